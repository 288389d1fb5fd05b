// The texts of the view "choice".

export const choice = {};
