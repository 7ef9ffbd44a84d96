import { lowerPriority } from '../../../src/render/pool/pooled-browser.js';

/** Makes the process so nice that the test named, as the user that it named. */
const [pid, uid] = process.argv.slice(2);
const user = uid === 'ours' ? null : { uid: Number(uid), gid: Number(uid) };
console.log(await lowerPriority([Number(pid)], 19, user));
