/** The only place that loads sharp, so that what it sets up applies to the whole process before any picture is read. */
import sharp from 'sharp';

// Other loaders of libvips, such as those for SVG and TIFF, would take any time and memory that a file makes them take.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: [
    'VipsForeignLoadPng',
    'VipsForeignLoadJpeg',
    'VipsForeignLoadWebp',
    'VipsForeignLoadNsgif',
    // For AVIFs of this program only: a frame may be larger than its file says, and any size takes memory.
    'VipsForeignLoadHeif',
  ],
});
// Caching or several threads would only use memory: no picture is read twice, and several are encoded at once.
sharp.cache(false);
sharp.concurrency(1);

export type { Matrix3x3, Sharp } from 'sharp';
export { sharp };
