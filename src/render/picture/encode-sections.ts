import { type Encoding, stitch } from './encode.js';
import type { Picture, PictureOrder } from './picture.js';
import type { SectionStore } from './section-store.js';

/**
 * Encodes everything captured into the store as one picture.
 * @param how.begun when the capture began, by `performance.now()`
 */
export async function encodeSections(
  { encodes }: Pick<PictureOrder, 'encodes'>,
  store: SectionStore,
  { encoding, begun }: { encoding: Encoding; begun: number },
): Promise<Omit<Picture, 'diagnostics'>> {
  const strips = await store.strips();
  const shot = performance.now();
  const encoded = await encodes.run(strips.width * strips.height, () => stitch(strips, encoding));
  return { ...encoded, timings: { begun, shoot: shot - begun, encode: performance.now() - shot } };
}
