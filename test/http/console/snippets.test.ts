import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addCaptureFlags, readCaptureFlags } from '../../../src/cli/capture-flags.js';
import { Snippets } from '../../../src/http/console/snippets.js';

const BODY = {
  url: 'https://example.com/?q=\'$HOME`id`"',
  viewport: { width: 800, deviceScaleFactor: 1.5, isMobile: true },
  full_page: true,
  block_ads: false,
  format: 'png',
  headers: { 'x-one': "it's" },
  hide_selectors: ['.a b', '#c'],
  clip: { x: 0, y: 10, width: 64, height: 48 },
  cookies: [{ name: 'a', value: '</code><script>' }],
  rotate: 90,
  palette: { colors: ['#000000', '#ffffff'], dither: 'atkinson' },
  custom_css: 'a {\n  color: "red";\n}',
  proxy: { server: 'http://proxy.example.com:3128', password: 'SECRET' },
};

/** The text of each snippet. */
function written(body: Record<string, unknown>): Record<string, string> {
  const html = String(Snippets({ body, baseUrl: 'https://shots.example.com' }));
  const found = [...html.matchAll(/<code id="(\w+)">([\s\S]*?)<\/code>/g)];
  return Object.fromEntries(found.map(([, language, text = '']) => [language, unescaped(text)]));
}

function unescaped(text: string): string {
  const names: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };
  return text.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => names[entity] ?? entity);
}

/** Splits a command as a shell does, for what the snippets use. */
function wordsOf(line: string): string[] {
  return [...line.replaceAll('\\\n', ' ').matchAll(/(?:'[^']*'|\\'|[^\s'])+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|\\'/g, (part, quoted) => quoted ?? (part === "\\'" ? "'" : part)),
  );
}

test('the command captures the same, as the command line reads it', () => {
  const [program, name, url, ...flags] = wordsOf(written(BODY).cli ?? '');
  expect([program, name, url]).toEqual(['stillframe', 'capture', BODY.url]);
  const command = new Command().exitOverride();
  addCaptureFlags(command);
  command.parse(flags, { from: 'user' });
  const { url: _, ...expected } = BODY;
  expect(readCaptureFlags(command, null)).toEqual({ ...expected, proxy: { server: BODY.proxy.server } });
});

test('curl and JavaScript have the request as JSON, and Python has its own literals', () => {
  const { curl = '', javascript = '', python } = written(BODY);
  const shown = { ...BODY, proxy: { ...BODY.proxy, password: '…' } };
  expect(JSON.parse(wordsOf(curl).at(-1) ?? '')).toEqual(shown);
  expect(JSON.parse(/capture\((\{[\s\S]*\})\);/.exec(javascript)?.[1] ?? '')).toEqual(shown);
  expect(python).toMatch(/"full_page": True,\n.*"block_ads": False,/);
});

test('no snippet has a key or a secret, and all are escaped', () => {
  const html = String(Snippets({ body: BODY, baseUrl: 'https://shots.example.com' }));
  expect(html).not.toContain('SECRET');
  expect(html).not.toContain('sf_live');
  expect(html).not.toContain('</code><script>');
  expect(Object.keys(written(BODY))).toEqual(['curl', 'javascript', 'python', 'cli']);
});

test('a long value is left for the reader to fill in, since four escaped copies of it would take long', () => {
  const { curl = '', cli = '' } = written({
    url: 'https://example.com/',
    html: '"'.repeat(100_000),
    headers: { a: '<'.repeat(5_000) },
  });
  expect(JSON.parse(wordsOf(curl).at(-1) ?? '')).toEqual({
    url: 'https://example.com/',
    html: '…',
    headers: { a: '…' },
  });
  expect(cli.length).toBeLessThan(200);
});
