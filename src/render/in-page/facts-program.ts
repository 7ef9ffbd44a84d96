/**
 * The program that `inspect_page`, `extract` and refs of steps run inside pages. It is a separate script, so that other captures do not load
 * it.
 */

export { extract } from './extract.js';
export { clear } from './marks.js';
export { find, list } from './page-elements.js';
export { read } from './page-facts.js';
export { vitals } from './vitals.js';
