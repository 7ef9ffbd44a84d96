/** A thread that draws the pages of one PDF. A separate bundle entry. */
import { answerTask } from '../../thread.js';
import { drawPdfPages } from './pdf-pages.js';

await answerTask(drawPdfPages);
