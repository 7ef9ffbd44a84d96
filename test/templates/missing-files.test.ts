import { expect, it } from 'vitest';
import { missingFiles } from '../../src/templates/missing-files.js';

it('lists the files that a page names and that are not there, without addresses of other places and values', () => {
  const page = `<!doctype html><link rel="stylesheet" href="card.css?v=2"><link rel="canonical" href="page">
    <link rel=preload href="/fonts/a%20b.woff2"><script src="./code.js"></script><template><img src="img/a.png"></template>
    {% if a %}<img src="logo.png"><img src="{{ picture }}"><img src="img/{{ name }}.png">{% endif %}<img src="card.css">
    <img src="https://example.com/x.png"><img src="//example.com/y.png"><img src="data:image/gif;base64,R0"><img src=""><img src="%ff">`;
  expect(missingFiles(page, ['index.html', 'logo.png'])).toEqual([
    'card.css',
    'code.js',
    'fonts/a b.woff2',
    'img/a.png',
  ]);
  expect(missingFiles(page, ['card.css', 'code.js', 'fonts/a b.woff2', 'img/a.png', 'logo.png'])).toEqual([]);
});
