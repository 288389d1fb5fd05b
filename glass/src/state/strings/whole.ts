// The texts of the view "whole".

export const whole = {};
