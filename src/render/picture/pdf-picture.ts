import type { Picture, PictureOrder } from './picture.js';
import type { ScrollReport } from './scroll-through.js';
export async function takePdf(_order: PictureOrder, _scroll: ScrollReport | null): Promise<Picture> { throw new Error('later'); }
