/** What the pages of the console do in the browser besides links and forms. Everything works without it, by loading a page again. */

import { showBusyForms } from './busy.js';
import { addCopyButtons } from './copy.js';
import { followServer } from './follow-server.js';

followServer(document);
showBusyForms(document);
addCopyButtons(document);
