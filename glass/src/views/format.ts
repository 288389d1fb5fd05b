// Numbers as texts, the same everywhere.

const MINUS = "−";

/** Six significant digits for reading; very small and very large ones with an exponent. */
export function full(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : `${MINUS}∞`;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return tiny(value);
  return Number(value.toPrecision(6)).toString().replace("-", MINUS);
}

/** One or two digits with an exponent: "6e-8". */
export function tiny(value: number): string {
  if (value === 0) return "0";
  return value.toExponential(Math.abs(value) < 1e-4 ? 1 : 3).replace("e+", "e").replace(/\.0+e/, "e").replace(/^-/, MINUS);
}

/** Three digits, for labels. */
export function brief(value: number): string {
  if (!Number.isFinite(value)) return full(value);
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 0.0005) return tiny(value);
  if (Number.isInteger(value) && size < 1e6) return String(value).replace("-", MINUS);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toFixed(digits).replace("-", MINUS);
}

/** A share as a percentage. */
export function percent(value: number): string {
  const shown = value * 100;
  if (shown !== 0 && Math.abs(shown) < 0.05) return value > 0 ? "under 0.1%" : `${MINUS}0.0%`;
  return `${shown.toFixed(Math.abs(shown) >= 99.95 ? 0 : 1).replace("-", MINUS)}%`;
}

/** A probability as a percentage that also says how small a small one is: "4.9%", "0.064%", "0.000020%". */
export function chance(value: number): string {
  const shown = value * 100;
  if (shown >= 0.0995 || shown === 0) return percent(value);
  if (shown < 1e-8) return "under 0.00000001%";
  return `${shown.toFixed(Math.min(8, 1 - Math.floor(Math.log10(shown))))}%`;
}

/** A loss in a sentence or a label: what is next to nothing has no digits that would mean something. */
export function loss(value: number): string {
  if (value !== 0 && Math.abs(value) < 0.001) return "less than 0.001";
  return nats(value);
}

/** Nats and other small sums: three digits after the point. */
export function nats(value: number): string {
  return Math.abs(value) < 0.0005 ? "0" : value.toFixed(Math.abs(value) < 10 ? 3 : 1).replace("-", MINUS);
}

/** A difference, with its sign. */
export function withSign(value: number, text: (value: number) => string = brief): string {
  return value > 0 ? `+${text(value)}` : text(value);
}
