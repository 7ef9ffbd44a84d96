/** A thread that reads and edits PDFs. A separate bundle entry. */
import { answerTasks } from '../thread.js';
import { editPdf } from './edit-pdf.js';

answerTasks(editPdf);
