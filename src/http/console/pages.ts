import { endSessions, setQueue, systemPage } from './system.js';
import type { Answer, FormVisit, Visit } from './visit.js';

/** What is shown at each path, for somebody with a session. */
export const PAGES = {
  system: systemPage,
} satisfies Record<string, (visit: Visit) => Promise<Answer>>;

/** What each form does. */
export const FORMS = {
  queue: setQueue,
  endSessions,
} satisfies Record<string, (visit: FormVisit) => Promise<Answer>>;
