import type { Encoding } from './encode.js';
import type { Picture, PictureOrder } from './picture.js';
export async function takeElement(_order: PictureOrder, _selector: string, _encoding: Encoding): Promise<Picture> { throw new Error('later'); }
