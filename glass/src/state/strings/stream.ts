// The texts of the view "stream".

export const stream = {};
