// The texts of the view "pieces".

export const pieces = {};
