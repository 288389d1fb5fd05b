// The texts of the view "heads".

export const heads = {};
