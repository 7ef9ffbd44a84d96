import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { zipOf } from '../../src/http/zip.js';
import { unzipped } from '../fixtures/unzipped.js';

it('a zip file has the files in their order, each opened once it is needed', async () => {
  const opened: string[] = [];
  const files = ['ä.pdf', 'b.pdf'].map((name) => ({
    name,
    bytes: 2 * Buffer.byteLength(name),
    read: () => {
      opened.push(name);
      return Readable.from([Buffer.from(name), Buffer.from(name)]);
    },
  }));
  const zip = zipOf(files);
  expect(opened).toEqual(['ä.pdf']);
  const content = await buffer(zip);
  const texts = Object.entries(unzipped(content)).map(([name, file]) => [name, file.toString()]);
  expect(texts).toEqual([
    ['ä.pdf', 'ä.pdfä.pdf'],
    ['b.pdf', 'b.pdfb.pdf'],
  ]);
  expect(opened).toEqual(['ä.pdf', 'b.pdf']);
});

it('a file that cannot be read ends the zip file with its error, and a reader that leaves closes the open file', async () => {
  const failing = () =>
    new Readable({
      read() {
        this.destroy(new Error('gone'));
      },
    });
  await expect(buffer(zipOf([{ name: 'a', bytes: 1, read: failing }]))).rejects.toThrow('gone');
  const endless = new Readable({
    read() {
      this.push(Buffer.alloc(1_000));
    },
  });
  const closed = new Promise((resolve) => endless.once('close', resolve));
  const zip = zipOf([{ name: 'a', bytes: 1e9, read: () => endless }]);
  for await (const _ of zip) break;
  await closed;
});
