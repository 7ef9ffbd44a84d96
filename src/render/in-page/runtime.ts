/**
 * All that the product runs inside a page, built to one script that is installed once in each document, in a world where the page's
 * scripts have replaced nothing. What stands here is what can be called from outside, as `room.function`; what is noted from one call to
 * the next lies in the modules. They import only each other and types.
 */

export * as activity from './activity.js';
export * as blank from './blank.js';
export * as changes from './changes.js';
export * as consent from './consent/calls.js';
export * as documents from './document-check.js';
export * as edits from './edits.js';
export * as element from './element.js';
export * as flat from './flat.js';
export * as frames from './frames.js';
export * as hold from './hold.js';
export * as images from './images.js';
export * as mechanisms from './mechanisms.js';
export * as motion from './motion.js';
export * as pin from './pin.js';
export * as print from './print.js';
export * as procedural from './procedural.js';
export * as pseudos from './pseudos.js';
export * as reveal from './reveal.js';
export * as rolled from './rolled.js';
export * as rules from './rules.js';
export * as clock from './run-clock.js';
export * as scroll from './scroll.js';
export * as scrollers from './scrollers.js';
export * as settlement from './settle.js';
export * as content from './shell.js';
export * as source from './source.js';
export * as text from './text.js';
export * as virtualised from './virtualised.js';
export * as wall from './wall.js';
