// Colours of spans by style (serve/timeline/span_table.h).

/** Packs a colour as canvases store it: red in the lowest byte. */
const pack = (red: number, green: number, blue: number): number =>
  ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;

/** Hue in degrees, the others from 0 to 1. */
function packHsl(hue: number, saturation: number, lightness: number): number {
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    const a = saturation * Math.min(lightness, 1 - lightness);
    return Math.round(255 * (lightness - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return pack(channel(0), channel(8), channel(4));
}

interface Family {
  name: string;
  hue: number;
  spread: number; // Hue range in degrees for names of one style.
  saturation: number;
  faint?: boolean; // Almost as pale as an empty lane.
  strong?: boolean; // GPU work: a busy GPU stands out, also where its kernels are narrower than a pixel.
}

/** Indexed by style number. */
const FAMILIES: Family[] = [
  { name: "Python", hue: 215, spread: 20, saturation: 0.2 },
  { name: "annotation", hue: 180, spread: 20, saturation: 0.4 },
  { name: "operator", hue: 215, spread: 50, saturation: 0.6 },
  { name: "API call", hue: 275, spread: 30, saturation: 0.45 },
  { name: "profiler", hue: 0, spread: 0, saturation: 0 },
  { name: "other", hue: 0, spread: 0, saturation: 0 },
  { name: "kernel", hue: 140, spread: 50, saturation: 0.55, strong: true },
  { name: "communication", hue: 28, spread: 16, saturation: 0.85, strong: true },
  { name: "copy", hue: 52, spread: 10, saturation: 0.7 },
  { name: "idle: launched too late", hue: 0, spread: 0, saturation: 0.75 },
  { name: "idle: waits for other GPU work", hue: 340, spread: 0, saturation: 0.3 },
  { name: "idle: no launch recorded", hue: 0, spread: 0, saturation: 0 },
  { name: "counter", hue: 205, spread: 0, saturation: 0.6 },
  { name: "idle: another stream works", hue: 0, spread: 0, saturation: 0, faint: true },
];

const SHADES = 16;

/** Smallest lightness of a family, and how far its shades reach above it. */
const USUAL = { dark: [0.34, 0.12], light: [0.68, 0.14] } as const;
const STRONG = { dark: [0.44, 0.12], light: [0.42, 0.12] } as const;
const FAINT = { dark: [0.22, 0], light: [0.9, 0] } as const;

const LIGHT_TEXT = "#ffffff";
const DARK_TEXT = "#000000";

export interface Palette {
  /** Indexed by style x SHADES + shade of the name. */
  fills: Uint32Array;
  background: number;
  stripe: number; // An empty lane.
  text: string;
  lines: string;
  accent: string;
  dark: boolean;
}

export function makePalette(dark: boolean): Palette {
  const fills = new Uint32Array(FAMILIES.length * SHADES);
  FAMILIES.forEach((family, style) => {
    for (let shade = 0; shade < SHADES; ++shade) {
      const along = shade / (SHADES - 1);
      const [least, range] = (family.strong ? STRONG : family.faint ? FAINT : USUAL)[dark ? "dark" : "light"];
      const lightness = least + range * along;
      // Hues and lightness vary in different orders, so that neighbours differ.
      const hue = family.hue + family.spread * (((shade * 7) % SHADES) / (SHADES - 1) - 0.5);
      fills[style * SHADES + shade] = packHsl((hue + 360) % 360, family.saturation, lightness);
    }
  });
  return dark
    ? {
        fills,
        background: pack(31, 34, 38),
        stripe: pack(37, 41, 46),
        text: LIGHT_TEXT,
        lines: "#4a5058",
        accent: "#7db8f5",
        dark,
      }
    : {
        fills,
        background: pack(255, 255, 255),
        stripe: pack(246, 247, 247),
        text: DARK_TEXT,
        lines: "#c3c8cc",
        accent: "#0b5cad",
        dark,
      };
}

export const fillOf = (palette: Palette, style: number): number =>
  palette.fills[Math.min(style & 0xff, FAMILIES.length - 1) * SHADES + (((style >>> 16) & 0xff) % SHADES)] as number;

/** Returns the relative luminance of a colour, from 0 to 1 (WCAG 2.1). */
function luminanceOf(colour: number): number {
  const linear = (shift: number) => {
    const value = ((colour >>> shift) & 0xff) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(0) + 0.7152 * linear(8) + 0.0722 * linear(16);
}

/** Returns the contrast of two colours, from 1 to 21 (WCAG 2.1). */
export function contrastOf(one: number, other: number): number {
  const [low, high] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** At this luminance, light and dark text have the same contrast: 4.6. */
const MIDDLE = 0.18;

/** Returns the colour for text on a fill: the one with more contrast. */
export const textOn = (fill: number): string => (luminanceOf(fill) > MIDDLE ? DARK_TEXT : LIGHT_TEXT);

/** Mixes two colours; share 1: only the first. */
export function mix(first: number, second: number, share: number): number {
  const channel = (shift: number) => {
    const a = (first >>> shift) & 0xff;
    const b = (second >>> shift) & 0xff;
    return Math.round(b + (a - b) * share) << shift;
  };
  return ((255 << 24) | channel(16) | channel(8) | channel(0)) >>> 0;
}

export const cssOf = (colour: number): string =>
  `rgb(${colour & 0xff} ${(colour >>> 8) & 0xff} ${(colour >>> 16) & 0xff})`;

/** Returns the legend for the styles of a drawing. */
export function legendOf(palette: Palette, styles: Iterable<number>): { name: string; colour: string }[] {
  return [...new Set([...styles].map((style) => style & 0xff))]
    .sort((a, b) => a - b)
    .flatMap((style) => {
      const family = FAMILIES[style];
      return family === undefined
        ? []
        : [{ name: family.name, colour: cssOf(palette.fills[style * SHADES + SHADES / 2] as number) }];
    });
}
