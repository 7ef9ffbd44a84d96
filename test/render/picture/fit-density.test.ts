import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DENSITY_MIN, fitDensity, PICTURE_MAX_PIXELS } from '../../../src/render/picture/region-picture.js';

describe('fitDensity', () => {
  it('keeps the requested density of a picture that fits', () => {
    expect(fitDensity({ width: 1280, height: 8_000 }, 2, 'webp')).toEqual({
      density: 2,
      height: 8_000,
      limited: false,
    });
  });

  it('takes the highest density that fits, in hundredths', () => {
    expect(fitDensity({ width: 1280, height: 10_000 }, 2, 'webp')).toEqual({
      density: 1.63,
      height: 10_000,
      limited: true,
    });
    expect(fitDensity({ width: 1280, height: 40_000 }, 2, 'jpeg')).toEqual({
      density: 1.63,
      height: 40_000,
      limited: true,
    });
  });

  it('continues below 1, down to 0.5', () => {
    expect(fitDensity({ width: 1280, height: 20_400 }, 2, 'webp')).toEqual({
      density: 0.8,
      height: 20_400,
      limited: true,
    });
    expect(fitDensity({ width: 1280, height: 32_000 }, 1, 'webp')).toEqual({
      density: 0.51,
      height: 32_000,
      limited: true,
    });
  });

  it('cuts a picture at density 0.5 if it fits at none', () => {
    expect(fitDensity({ width: 1280, height: 40_000 }, 3, 'webp')).toEqual({
      density: 0.5,
      height: 32_766,
      limited: true,
    });
  });

  it('never exceeds the pixel limits, nor chooses a density below 0.5 or above the requested one', () => {
    const sizes = fc.record({
      width: fc.integer({ min: 1, max: 12_000 }),
      height: fc.integer({ min: 1, max: 200_000 }),
    });
    fc.assert(
      fc.property(
        sizes,
        fc.double({ min: 1, max: 3, noNaN: true }),
        fc.constantFrom('png', 'jpeg', 'webp'),
        (size, wanted, format) => {
          const { density, height, limited } = fitDensity(size, wanted, format as 'png');
          expect(density).toBeGreaterThanOrEqual(DENSITY_MIN);
          expect(density).toBeLessThanOrEqual(wanted);
          expect(size.width * density * height * density).toBeLessThanOrEqual(PICTURE_MAX_PIXELS * 1.0001);
          if (format === 'webp') expect(height * density).toBeLessThanOrEqual(16_383);
          if (format === 'jpeg') expect(height * density).toBeLessThanOrEqual(65_500);
          if (!limited) expect({ density, height }).toEqual({ density: wanted, height: size.height });
        },
      ),
    );
  });
});
