import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { editPdf } from '../../../src/pdf/edit-pdf.js';
import { browserOfFile } from './a-page-session.js';
import { take } from './take.js';

const browser = await browserOfFile();

/** The words of a PDF, read by poppler. */
function words(content: Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'stillframe-words-'));
  const file = join(folder, 'page.pdf');
  writeFileSync(file, content);
  try {
    return execFileSync('pdftotext', ['-layout', file, '-'], { encoding: 'utf8' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const print = (html: string, pdf: Record<string, unknown> = {}) =>
  take(browser, html, { format: 'pdf', pdf: { paper: 'a4', ...pdf } });

it('parts that hide again outside the view are printed', async () => {
  const html = `<!doctype html><style>section{padding:110px 0}.r{height:240px;visibility:hidden}.r.in{visibility:visible}</style>
    ${Array.from({ length: 8 }, (_, at) => `<section><div class=r>word${at}</div></section>`).join('')}
    <script>o=new IntersectionObserver(es=>es.forEach(e=>e.target.classList.toggle('in',e.isIntersecting)));document.querySelectorAll('.r').forEach(e=>o.observe(e))</script>`;
  const { content, diagnostics } = await print(html);
  const seen = words(content);
  for (let at = 0; at < 8; at++) expect(seen).toContain(`word${at}`);
  expect(diagnostics.truncated).toBe(false);
});

it.each([
  ['at their places', "'position:absolute;left:0;top:' + at * 50 + 'px'", ''],
  ['in the flow', "''", "list.style.paddingTop = from * 50 + 'px'; list.style.paddingBottom = (120 - to) * 50 + 'px';"],
])('rows that exist only in view are printed in their order: %s', async (_how, style, pad) => {
  const html = `<!doctype html><style>body{margin:0}#list{position:relative;height:6000px;box-sizing:border-box}i{display:block;height:50px}</style><div id=list></div>
    <script>const draw = () => { const from = Math.max(0, Math.floor(scrollY / 50) - 1), to = Math.min(120, from + 16); ${pad}
      list.innerHTML = ''; for (let at = from; at < to; at++) { const row = document.createElement('i'); row.style.cssText = ${style}; row.textContent = 'row' + String(at).padStart(3, '0'); list.append(row); } };
      draw(); addEventListener('scroll', draw);</script>`;
  const { content, diagnostics } = await print(html);
  expect(words(content).match(/row\d{3}/g)).toEqual(
    Array.from({ length: 120 }, (_, at) => `row${String(at).padStart(3, '0')}`),
  );
  expect(diagnostics.truncated).toBe(false);
});

it('scripts that prepare a page for print are run', async () => {
  const html = `<!doctype html><details><summary>more</summary><p>opened</p></details><p id=a>screen</p><p id=b></p><div id=c style="width:100%"></div><p id=d></p>
    <script>addEventListener('beforeprint', () => { document.querySelector('details').open = true });
      matchMedia('print').addEventListener('change', (event) => { if (event.matches) b.textContent = 'medium' });
      new ResizeObserver(([entry]) => { d.textContent = 'width' + Math.round(entry.contentRect.width) }).observe(c);</script>
    <style>body{margin:0}@media print{#a{display:none}}</style>`;
  const seen = words((await print(html, { margin: { left: '10mm', right: '10mm' } })).content);
  expect(seen).toContain('opened');
  expect(seen).toContain('medium');
  expect(seen).not.toContain('screen');
  expect(seen).toContain(`width${Math.round(((210 - 20) / 25.4) * 96)}`);
});

it('a page without scripts is printed without being scrolled through', async () => {
  const { content, scroll } = await print(`<!doctype html>${'<p>words of an article</p>'.repeat(200)}`);
  expect(scroll).toMatchObject({ steps: 0, stoppedReason: 'end_of_page' });
  expect((await editPdf({ content, edits: {} })).pages).toBeGreaterThan(3);
});

it('a WebGL canvas is printed as it is shown, wherever it is', async () => {
  const html = `<!doctype html><style>body{margin:0}canvas{display:block;width:300px;height:200px}</style><div style="height:1500px">above</div><canvas width=300 height=200></canvas>
    <script>const gl = document.querySelector('canvas').getContext('webgl'); gl.clearColor(1, 0, 0, 1); gl.clear(gl.COLOR_BUFFER_BIT);</script>`;
  const { content } = await print(html);
  expect(await redShare(content, 2)).toBeGreaterThan(0.02);
});

/** The share of red pixels on a page of a PDF, drawn by poppler. */
async function redShare(content: Uint8Array, page: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'stillframe-drawn-'));
  writeFileSync(join(folder, 'page.pdf'), content);
  try {
    const png = execFileSync(
      'pdftoppm',
      ['-r', '40', '-png', '-f', String(page), '-l', String(page), join(folder, 'page.pdf')],
      {
        maxBuffer: 50_000_000,
      },
    );
    const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    let red = 0;
    for (let at = 0; at < data.length; at += 3)
      if ((data[at] ?? 0) > 200 && (data[at + 1] ?? 0) < 60 && (data[at + 2] ?? 0) < 60) red++;
    return red / (info.width * info.height);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
