// Numbers in words.

export const digits = (value) => value.toLocaleString("en");

export const number = (value, noun) => `${digits(value)} ${noun}${value === 1 ? "" : "s"}`;
