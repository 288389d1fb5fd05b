// The texts of the view "proof".

export const proof = {};
