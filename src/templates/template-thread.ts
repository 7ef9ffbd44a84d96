/** A thread that renders templates. A separate bundle entry. */
import { answerTasks } from '../thread.js';
import { renderTemplate, type TemplateTask } from './render-template.js';

answerTasks((task: TemplateTask) => renderTemplate(task));
