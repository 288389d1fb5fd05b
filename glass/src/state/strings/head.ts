// The texts of the view "head".

export const head = {};
