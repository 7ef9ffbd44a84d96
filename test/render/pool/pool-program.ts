/** Holds a pool with one browser until it is killed; argv: the run directory. */
import { silentLog } from '../../../src/log.js';
import { BrowserPool } from '../../../src/render/pool/browser-pool.js';
import { ANY_BROWSER } from '../install/any-browser.js';
import { OpenProxies } from './fixture.js';

await BrowserPool.start({
  executable: ANY_BROWSER,
  egress: new OpenProxies(),
  browsers: 1,
  pagesPerBrowser: 1,
  runDir: process.argv[2] ?? '',
  sandbox: true,
  log: silentLog(),
});
process.send?.('ready');
setInterval(() => {}, 60_000);
