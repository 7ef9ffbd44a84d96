import { accountsPage, createAccount, setQuota } from './accounts.js';
import { capturePage, takePicture } from './capture.js';
import { jobPage, redeliverJob } from './job.js';
import { jobsPage } from './jobs.js';
import { createKey, createSigningSecret, keysPage, revokeKey } from './keys.js';
import { showPicture } from './picture.js';
import { endSessions, setQueue, systemPage } from './system.js';
import type { Answer, FormVisit, Visit } from './visit.js';

/** The page at each path, for somebody with a session. */
export const PAGES = {
  accounts: accountsPage,
  capture: capturePage,
  job: jobPage,
  jobs: jobsPage,
  keys: keysPage,
  picture: showPicture,
  system: systemPage,
} satisfies Record<string, (visit: Visit) => Promise<Answer>>;

/** The action of each form. */
export const FORMS = {
  capture: takePicture,
  queue: setQueue,
  redeliver: redeliverJob,
  createKey,
  revokeKey,
  createSigningSecret,
  createAccount,
  setQuota,
  endSessions,
} satisfies Record<string, (visit: FormVisit) => Promise<Answer>>;
