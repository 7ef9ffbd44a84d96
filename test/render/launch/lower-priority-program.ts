import { lowerPriority } from '../../../src/render/launch/process-priority.js';

/** Makes the process so nice that the test named, as the user that it named. */
const [pid, uid] = process.argv.slice(2);
const user = uid === 'ours' ? null : { uid: Number(uid), gid: Number(uid) };
await lowerPriority(Number(pid), 19, user);
