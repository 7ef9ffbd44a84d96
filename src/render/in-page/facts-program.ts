/**
 * What `inspect_page` runs inside pages, and a ref of a step. It is built to a script of its own, so that other captures do not load it.
 */

export { clear } from './marks.js';
export { find, list } from './page-elements.js';
export { read } from './page-facts.js';
export { vitals } from './vitals.js';
