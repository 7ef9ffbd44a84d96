/** The colors of screens that show few of them, such as e-paper (extensions.md, Pictures for small screens). */
import { z } from 'zod';
import { limited } from './field-rules.js';
import { PALETTE_COLORS_MAX } from './limits.js';

/** The colors of 7-color e-paper (ACeP), in the order of its controllers: black, white, green, blue, red, yellow, orange. */
const SEVEN_COLORS = ['#000000', '#ffffff', '#00ff00', '#0000ff', '#ff0000', '#ffff00', '#ff8000'];
/** Numbers of grays, which are evenly spread from black to white. */
const GRAY_COUNTS = [2, 4, 16, 256];
const COLORS_RULE = `must be 2, 4, 7, 16 or 256, or a list of 2 to ${PALETTE_COLORS_MAX} different colors such as #ff8000`;

export const paletteSchema = z.strictObject({
  colors: z
    .union(
      [
        z.literal(2),
        z.literal(4),
        z.literal(7),
        z.literal(16),
        z.literal(256),
        z
          .array(
            limited(7)
              .regex(/^#[0-9a-fA-F]{6}$/, 'must be a color such as #ff8000')
              .toLowerCase(),
          )
          .min(2)
          .max(PALETTE_COLORS_MAX)
          .refine((colors) => new Set(colors).size === colors.length, 'must not repeat a color'),
      ],
      { error: ({ input }) => (input === undefined ? 'is required' : COLORS_RULE) },
    )
    .meta({
      description: `2, 4, 16 or 256 grays from black to white, the 7 colors of ACeP e-paper, or a list of 2 to ${PALETTE_COLORS_MAX} colors as #rrggbb`,
      example: 2,
      cli: { long: '--palette' },
    }),
  dither: z
    .enum(['floyd_steinberg', 'atkinson', 'none'])
    .default('floyd_steinberg')
    .meta({
      description: 'how colors in between are imitated by dots; `none` takes the nearest color, which suits text',
      cli: { long: '--dither' },
    }),
});

export type PaletteOption = z.output<typeof paletteSchema>;

/** The colors as red, green and blue, 0–255, in the order of the palette. */
export function paletteColors({ colors }: PaletteOption): number[][] {
  if (typeof colors === 'number' && GRAY_COUNTS.includes(colors)) {
    return Array.from({ length: colors }, (_, index) =>
      Array<number>(3).fill(Math.round((index * 255) / (colors - 1))),
    );
  }
  const list = typeof colors === 'number' ? SEVEN_COLORS : colors;
  return list.map((color) => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)));
}
