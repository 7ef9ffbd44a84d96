/** The scripts of the console's pages, which add to links and forms. Everything works without them, by loading a page again. */

import { showBusyForms } from './busy.js';
import { addCopyButtons } from './copy.js';
import { followServer } from './follow-server.js';

followServer(document);
showBusyForms(document);
addCopyButtons(document);
