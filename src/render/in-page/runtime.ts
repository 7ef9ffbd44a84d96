/**
 * The code that runs inside a page, built to one script that is installed once per document in an isolated world. Exports
 * are called as `module.function`; modules keep state between calls, and import only each other, and limits
 * and types of contract/.
 */

export * as blank from './blank.js';
export * as changes from './changes.js';
export * as banners from './consent/dismiss.js';
export * as consent from './consent/inspect.js';
export * as popups from './consent/popups.js';
export * as documents from './document-check.js';
export * as edits from './edits.js';
export * as element from './element.js';
export * as fit from './fit.js';
export * as fonts from './fonts.js';
export * as frames from './frames.js';
export * as freeze from './freeze.js';
export * as looks from './looks.js';
export * as markup from './markup.js';
export * as mask from './mask.js';
export * as missingParts from './missing-parts.js';
export * as motion from './motion.js';
export * as pageNumbers from './page-numbers.js';
export * as paperPictures from './paper-pictures.js';
export * as pin from './pin.js';
export * as print from './print.js';
export * as procedural from './procedural.js';
export * as putBack from './put-back.js';
export * as readiness from './readiness.js';
export * as clock from './run-clock.js';
export * as scripting from './scripting.js';
export * as scroll from './scroll.js';
export * as scrollers from './scrollers.js';
export * as secrets from './secrets.js';
export * as content from './shell.js';
export * as source from './source.js';
export * as text from './text.js';
export * as transformedContent from './transformed-content.js';
export * as undo from './undo.js';
export * as virtualized from './virtual-lists.js';
