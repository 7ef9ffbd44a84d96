// A visual check in a CI job, which fails when the page has changed:  node visual-check.mjs https://preview.example.com home.png
// Without the file home.png, it is made: commit it. Needs the package sharp.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import sharp from 'sharp';
import { Stillframe } from 'stillframe/client';

const [url, baseline] = process.argv.slice(2);
const { STILLFRAME_URL: baseUrl, STILLFRAME_KEY: apiKey } = process.env;
if (!baseline || !baseUrl || !apiKey) {
  console.error('Usage: STILLFRAME_URL=… STILLFRAME_KEY=… node visual-check.mjs URL BASELINE.png');
  process.exit(2);
}
const stillframe = new Stillframe({ baseUrl, apiKey });
const viewport = { width: 1280, height: 800, deviceScaleFactor: 1 };
const picture = await stillframe.capture({ url, viewport, format: 'png', full_page: true, cache_ttl: 0 });
const now = await stillframe.download(picture);
if (!existsSync(baseline)) await writeFile(baseline, now);
const [before, after] = await Promise.all(
  [baseline, now].map((png) => sharp(png).ensureAlpha().raw().toBuffer({ resolveWithObject: true })),
);
const isSameSize = before.info.width === after.info.width && before.info.height === after.info.height;
const changed = isSameSize
  ? before.data.filter((value, at) => Math.abs(value - after.data[at]) > 8).length
  : after.data.length;
console.log(changed === 0 ? `${url} looks as before` : `${url} has changed: ${picture.cdn_url}`);
process.exitCode = changed === 0 ? 0 : 1;
