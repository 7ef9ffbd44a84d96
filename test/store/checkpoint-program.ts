/** Arguments: a database file and the URL of the checkpoint thread. Runs two checkpoints, and ends without closing anything. */
import { Checkpoints } from '../../src/store/sqlite/checkpoints.js';
import { Connection } from '../../src/store/sqlite/connection.js';
import { Database } from '../../src/store/sqlite/driver.js';

const [, , file = '', thread = ''] = process.argv;
const db = new Database(file);
db.pragma('journal_mode = WAL');
db.exec('CREATE TABLE rows (id INTEGER)');
const checkpoints = new Checkpoints(new Connection(db), new URL(thread));
process.stdout.write(`${await checkpoints.truncate()} ${await checkpoints.truncate()}`);
