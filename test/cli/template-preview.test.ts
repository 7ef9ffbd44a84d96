import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { previewTemplate } from '../../src/cli/template-preview.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

it('previews a template with values of the query, names what is wrong, and reloads open pages after changes', async () => {
  const dir = folderOfTest();
  cpSync('examples/templates/share-card', dir, { recursive: true });
  await using preview = await previewTemplate(dir, 0);
  const read = async (path: string) => {
    const answer = await fetch(preview.url + path);
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
  };
  expect(await read('')).toMatchObject({ status: 200, text: expect.stringContaining('Ada Lovelace') });
  const page = await read('?title=%3Cb%3E&dark=false');
  expect(page.text).toContain('<h1 dir="auto" data-fit="34" data-fit-else="ellipsis">&lt;b&gt;</h1>');
  expect(page.text).toContain('class="light"');
  expect(page.text).toContain('stillframe.fit()');
  expect(await read('?titel=a')).toMatchObject({ status: 400, text: expect.stringContaining('did you mean `title`?') });
  expect(await read('card.css')).toMatchObject({ status: 200, type: 'text/css; charset=utf-8' });
  for (const path of ['template.json', '../template.json', '%2e%2e/a', 'none.css'])
    expect((await read(path)).status).toBe(404);
  const foreign = await new Promise<number | undefined>((resolve) => {
    request(preview.url, { headers: { host: 'evil.example' } }, ({ statusCode }) => resolve(statusCode)).end();
  });
  expect(foreign).toBe(421);

  const changes = await fetch(`${preview.url}.changes`);
  const reader = changes.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toBe(': open\n\n');
  writeFileSync(join(dir, 'index.html'), '{{ title');
  expect((await reader?.read())?.value).toContain('data: changed');
  await reader?.cancel();
  expect(await read('')).toMatchObject({ status: 400, text: expect.stringContaining('not closed') });
  rmSync(join(dir, 'index.html'));
  expect((await read('')).status).toBe(500);
});
