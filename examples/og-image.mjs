// Open Graph images for a blog, made when the blog is built:  node og-image.mjs 'The title of a post' public/og/post.png
import { writeFile } from 'node:fs/promises';
import { Stillframe } from 'stillframe/client';

const [title, file] = process.argv.slice(2);
const { STILLFRAME_URL: baseUrl, STILLFRAME_KEY: apiKey } = process.env;
if (!file || !baseUrl || !apiKey) {
  console.error('Usage: STILLFRAME_URL=… STILLFRAME_KEY=… node og-image.mjs TITLE FILE.png');
  process.exit(2);
}
const stillframe = new Stillframe({ baseUrl, apiKey });
const text = title.replace(/[&<]/g, (character) => `&#${character.charCodeAt(0)};`);
const picture = await stillframe.capture({
  html: `<body style="margin:0;display:grid;place-items:center;height:100vh;background:#123;color:#fff;font:bold 72px sans-serif">${text}</body>`,
  viewport: { width: 1200, height: 630, deviceScaleFactor: 1 },
  format: 'png',
});
await writeFile(file, await stillframe.download(picture));
