/** A thread that reads and edits PDFs. A separate bundle entry. */
import { answerTasks } from '../thread.js';
import { editPdf, type PdfTask } from './edit-pdf.js';
import { beginTask } from './open-pdf.js';
import { type ReadTask, readPdfs } from './read-pdfs.js';
import { type PdfWork, workOnPdfs } from './work-on-pdfs.js';

answerTasks((task: PdfTask | PdfWork | ReadTask): Promise<unknown> => {
  beginTask();
  if ('read' in task) return readPdfs(task);
  return 'files' in task ? workOnPdfs(task) : editPdf(task);
});
