import { mkdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readShots, type Shots, type ShotsRules } from '../../../src/cli/multi/read-shots.js';
import { ShotsError } from '../../../src/cli/multi/read-yaml.js';
import { folderOfFile, writeFiles } from '../../fixtures/temporary-folder.js';

const root = folderOfFile();
mkdirSync(join(root, 'shots'));
symlinkSync('..', join(root, 'up'));
const state = '{"cookies":[{"name":"a","value":"b","domain":"example.com"}]}';
writeFiles(root, { 'page.html': '<h1>A page</h1>', 'state.json': state, 'broken.json': '{"cookies": s3cret' });

function read(yaml: string, over: Partial<ShotsRules> = {}): Shots {
  const text = yaml.replaceAll('ROOT', root);
  const rules = {
    file: 'shots.yml',
    root,
    outputDir: null,
    allowOutside: false,
    tolerate: [],
    fields: {},
    onServer: false,
  };
  return readShots(text, { ...rules, taken: [join(root, 'report')], ...over });
}

function problems(yaml: string): string {
  try {
    read(yaml);
  } catch (error) {
    if (error instanceof ShotsError) return error.message.replaceAll(root, 'ROOT');
    throw error;
  }
  return 'none';
}

describe('a shots file', () => {
  it('is a list, in which the server may be an item, as for shot-scraper', () => {
    const list =
      '- server: python -m http.server 8003\n- output: a.png\n  url: http://localhost:8003/\n- url: example.com/x';
    const { shots, server } = read(list);
    expect(server).toEqual({ command: 'python -m http.server 8003', url: null, port: null, timeoutMs: 30_000 });
    expect(
      shots.map(({ line, path, options }) => [line, path.slice(root.length), options.url, options.format]),
    ).toEqual([
      [2, '/a.png', 'http://localhost:8003/', 'png'],
      [4, '/example-com-x.png', 'https://example.com/x', 'png'],
    ]);
  });

  it('takes the fields of shot-scraper, and names pictures as it does', () => {
    const { shots } = read(`
- { url: "http://www.example.com/", width: 400, height: 800, quality: 80, wait: 500, wait_for: window.a }
- { url: "http://www.example.com/", width: 500, javascript: a(), skip: false, fail: false }
- { url: "localhost:8003/a.b/?c", selectors: ["#a"], height: 300, js_file: ROOT/state.json, timeout: 5000, fail: true }
- { url: example.com, selectors_all: [h1, p], width: 500 }
- { url: example.com, js_selector: "el.id == 'a'" }`);
    expect(shots.map(({ output }) => output)).toEqual([
      'www-example-com.jpeg',
      'www-example-com.png',
      'localhost8003-a-b.png',
      'example-com.png',
      'example-com.1.png',
    ]);
    const [first, second, third, ...elements] = shots.map(({ options }) => options);
    expect(first).toMatchObject({
      format: 'jpeg',
      quality: 80,
      delay: 500,
      waitForFunction: 'window.a',
      fullPage: false,
    });
    expect(first?.view).toMatchObject({ width: 400, height: 800, deviceScaleFactor: 1 });
    expect(second).toMatchObject({ fullPage: true, customJs: 'a()', tolerate: ['target_error', 'blocked_by_target'] });
    expect(second?.view).toMatchObject({ width: 500, height: 780 });
    expect(third).toMatchObject({
      selector: '#a',
      fullPage: false,
      customJs: state,
      timeout: 5_000,
      tolerate: [],
      view: { height: 300 },
    });
    expect(
      elements.map(({ fullPage, selectorUnion, selectorFunction }) => [fullPage, selectorUnion, selectorFunction]),
    ).toEqual([
      [false, 'h1, p', null],
      [false, null, "[...document.querySelectorAll('*')].find((el) => (el.id == 'a'))"],
    ]);
    const twice = read('- { url: example.com }\n- { url: example.com }', {
      fields: { viewport: { deviceScaleFactor: 3 }, format: 'webp' },
    });
    expect(twice.shots.map(({ output, options }) => [output, options.view.deviceScaleFactor])).toEqual([
      ['example-com.webp', 3],
      ['example-com.1.webp', 3],
    ]);
    expect(read('- { url: ROOT/page.html }').shots[0]?.output).toBe('page.webp');
  });

  it('has defaults, which a shot replaces, completes, or removes', () => {
    const { shots } = read(`
defaults:
  viewport: { width: 600, height: 300 }
  selector: h1
  format: jpeg
  pdf: { paper: a4 }
  cookies: [{ name: a, value: b }]
server: { command: [npm, run, dev], port: 4000, timeout: 5000 }
shots:
  - { url: example.com, output: a }
  - { url: example.com, output: b.png, viewport: { width: 900 }, selector: ~, cookies: [] }
  - { url: example.com, output: c.pdf, selector: null }
  - { url: example.com, output: d.jpg, format: jpg }`);
    const [a, b, c, d] = shots.map(({ options }) => options);
    expect(a).toMatchObject({
      format: 'jpeg',
      selector: 'h1',
      pdf: null,
      view: { width: 600, height: 300 },
      cookies: [{ name: 'a' }],
    });
    expect(b).toMatchObject({ format: 'png', selector: null, view: { width: 900, height: 300 }, cookies: [] });
    expect(d).toMatchObject({ format: 'jpeg' });
    expect(c?.pdf?.paper.width).toBeCloseTo(8.27, 1);
  });

  it('names local pages by file or url, and logins by their files', () => {
    const { shots } = read(`
- { file: ROOT/page.html, output: a.png, storage_state: ROOT/state.json }
- { url: ROOT/page.html, output: b.png }
- { html: <p>x</p>, output: c.png }`);
    expect(shots.map(({ target, name }) => [target.kind, name.replace(root, '')])).toEqual([
      ['file', '/page.html'],
      ['file', '/page.html'],
      ['url', 'about:html'],
    ]);
    expect(shots[0]?.options.storageState?.cookies).toMatchObject([{ name: 'a', value: 'b' }]);
  });

  it('may have anchors and merge keys', () => {
    const { shots } = read('- &a { url: example.com, output: a.png, full_page: true }\n- { <<: *a, output: b.png }');
    expect(shots.map(({ options }) => options.fullPage)).toEqual([true, true]);
    const two = '- &a { url: example.com, output: a.png }\n- &b { url: example.org, output: b.webp }\n';
    expect(read(`${two}- { <<: *a, <<: *b, output: c.png }`).shots[2]?.options).toMatchObject({
      url: 'https://example.com/',
      format: 'png',
    });
  });
});

describe("each problem of a shots file is reported with its line and the API's message", () => {
  it.each([
    ['- url: example.com\n  fullpage: true', 'shots.yml:2: Unknown field `fullpage`. Did you mean `full_page`?'],
    [
      '- url: example.com\n  viewprt:\n    width: 300',
      'shots.yml:2: Unknown field `viewprt`. Did you mean `viewport`?',
    ],
    ['- url: example.com\n  width: 300', 'shots.yml:2: `width` must be at least 320, not 300'],
    [
      '- url: example.com\n  viewport: {}\n  width: 600',
      'shots.yml:3: Unknown field `width`. Did you mean `viewport.width`?',
    ],
    ['- url: example.com\n  wait: 99999', 'shots.yml:2: `wait` must be at most 30000'],
    [
      '- url: example.com\n  selectors: [a, b]',
      'shots.yml:2: `selectors` is not supported here: write `selector_union: "…"`',
    ],
    [
      '- url: example.com\n  js_selector_all: a',
      'shots.yml:2: `js_selector_all` is not supported here: write `selector_union: "[data-shot]"`',
    ],
    ['- url: example.com\n  skip: true', 'shots.yml:2: `skip` is not supported here: write `fail: true`'],
    ['- url: example.com\n  fail: 3', 'shots.yml:2: `fail` must be true or false'],
    ['- url: example.com\n  js_file: none.js', 'shots.yml:2: `js_file` names the file "none.js", which cannot be read'],
    ['- url: example.com\n  outptu: a.png', 'shots.yml:2: Unknown field `outptu`. Did you mean `output`?'],
    ['- url: example.com\n  viewport:\n    height: 3', 'shots.yml:3: `viewport.height` must be at least 240, not 3'],
    ['- url: ftp://example.com', 'shots.yml:1: `url` must be an http or https URL'],
    ['- output: a.png', 'shots.yml:1: `url` is required, or `file`, or `html`'],
    ['- url: example.com\n  html: x', 'shots.yml:2: `html` cannot be combined with `url`: give exactly one of them'],
    [
      '- url: example.com\n  webhook: { url: "https://example.com/", secret: 0123456789abcdef }',
      '`webhook` needs a server',
    ],
    [
      '- url: example.com\n  output: a.pdf\n  selector: h1',
      'shots.yml:3: `selector` cannot be combined with format `pdf`',
    ],
    ['- file: ROOT/none.html', 'shots.yml:1: `file` is "ROOT/none.html". There is no file ROOT/none.html.'],
    ['- url: example.com\n  output: a.tiff', 'shots.yml:2: `output` is "a.tiff": it must end in .png'],
    ['- url: example.com\n  output: a.png\n  format: jpeg', 'shots.yml:3: `format` is jpeg, and `output` is "a.png"'],
    [
      '- url: example.com\n  storage_state: ROOT/none.json',
      'shots.yml:2: `storage_state` names the file "ROOT/none.json", which cannot',
    ],
    ['[]', 'There are no shots in the file.'],
    ['just text', 'The file must be a list of shots'],
    [
      'shots:\n- url: example.com\nsrever: x',
      'shots.yml:3: Unknown field `srever`. Known fields: defaults, server, shots.',
    ],
    ['defaults:\n  url: example.com\nshots: [{ output: a.png }]', 'shots.yml:2: `url` belongs to a single shot'],
    [
      'server: { command: x, timeout: 6 }\nshots: [{ url: localhost }]',
      'must be 1000 to 600000 ms; 30 seconds are 30000',
    ],
    [
      'server: { command: x, url: localhost }\nshots: [{ url: localhost }]',
      '`url` must be a URL such as http://127.0.0.1:4173/',
    ],
    ['- url: example.com\n  url: example.org', 'shots.yml:2: Map keys must be unique'],
    ['- url: "example.com', 'shots.yml:1: Missing closing "quote'],
    ['- url: !secret example.com', 'shots.yml:1: Unresolved tag: !secret'],
  ])('%j', (yaml, words) => {
    expect(problems(yaml)).toContain(words);
  });

  it('all problems are reported at once, and one of the defaults only once', () => {
    const yaml = 'defaults:\n  fullpage: true\nshots:\n- url: example.com\n- url: example.org\n  quality: 900';
    expect(problems(yaml).split('\n')).toEqual([
      'shots.yml:2: Unknown field `fullpage`. Did you mean `full_page`?',
      'shots.yml:6: `quality` must be at most 100, not 900',
    ]);
  });

  it('the text of a login is never repeated', () => {
    expect(problems('- url: example.com\n  storage_state: ROOT/broken.json')).not.toContain('s3cret');
  });
});

describe('outputs', () => {
  it.each([
    [
      'one path',
      '- { url: example.com, output: a.png }\n- { url: example.org, output: ./shots/../a.png }',
      'that of the shot in line 1',
    ],
    ['the report', '- { url: example.com, output: report }', 'a file of this command'],
    ['a directory', '- { url: example.com, output: shots }', 'is a directory: name a file in it'],
    ['standard output', '- { url: example.com, output: "-" }', 'must be a file'],
    ['a parent directory', '- { url: example.com, output: ../a.png }', 'leads out of the working directory'],
    ['a link that leads out', '- { url: example.com, output: up/a.png }', 'leads out of the working directory'],
  ])('are refused: %s', (_, yaml, words) => {
    expect(problems(yaml)).toContain(words);
  });

  it('may be elsewhere with an absolute path, with a notice, or with permission', () => {
    const elsewhere = tmpdir();
    const isOutside = (output: string, allowOutside = false) =>
      read(`- { url: example.com, output: ${output} }`, { allowOutside }).shots[0]?.isOutside;
    expect([isOutside(`${elsewhere}/a.png`), isOutside('../a.png', true), isOutside('new/dir/a.png')]).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe('a list of URLs', () => {
  const LIST =
    '\uFEFF# the site\r\nhttps://example.com/\r\n\n  example.com/prices?a=1#b  \nROOT/page.html\nlocalhost:4173\n';

  it('has a page in each line, named after itself, and takes the fields of the command line', () => {
    const { shots } = read(LIST, { outputDir: 'pictures', fields: { format: 'png', full_page: true } });
    expect(shots.map(({ line, output, options }) => [line, output, options.fullPage])).toEqual([
      [2, 'pictures/example.com.png', true],
      [4, 'pictures/example.com-prices-a-1.png', true],
      [5, 'pictures/page.png', true],
      [6, 'pictures/localhost-4173.png', true],
    ]);
    expect(shots[2]?.target).toMatchObject({ kind: 'file' });
  });

  it('names a page that is there twice with a number, and not like an output that a shot names', () => {
    const names = (yaml: string) => read(yaml).shots.map(({ output, path }) => [output, path.replace(`${root}/`, '')]);
    expect(names('example.com/\nhttp://example.com/\nexample.com/').flat()).toEqual(
      ['example.com.webp', 'example.com-2.webp', 'example.com-3.webp'].flatMap((name) => [name, name]),
    );
    expect(
      names('shots: [{ url: example.com }, { url: example.org, output: example.com.webp }]').map(([name]) => name),
    ).toEqual(['example.com-2.webp', 'example.com.webp']);
  });

  it('names the line of a page that is none', () => {
    expect(problems('example.com\nftp://example.com')).toMatch(/^shots\.yml:2: `url`/);
    expect(problems('https://example.com/a b\nexample.com')).toContain('one URL in each line');
  });

  it('has a name for each of 1,000 pages of one address', () => {
    expect(read('example.com\n'.repeat(1_000)).shots.at(-1)?.output).toBe('example.com-1000.webp');
  });
});

it('shots with several pictures are not taken from a server', () => {
  const several = '- { url: example.com, output: a.png, captures: [{}, { selector: h1 }] }';
  expect(() => read(several, { onServer: true })).toThrow('not taken from a server');
});

describe('a very long shots file is refused:', () => {
  it.each([
    ['shots without a URL', (count: number) => '- { ulr: 1 }\n'.repeat(count), 'Unknown field `ulr`'],
    [
      'unknown fields',
      (count: number) => `shots: []\n${numbered(count, (index) => `a${index}: 1\n`)}`,
      'Unknown field `a0`',
    ],
    ['syntax errors', (count: number) => '- "\n- @\n'.repeat(count / 2), 'Missing closing "quote'],
  ])(
    'of 20,000 %s is refused with the first 100 problems, in linear time',
    { timeout: 60_000 },
    (_what, text, problem) => {
      problems(text(500));
      const [few = 0, many = 0] = [5_000, 20_000].map((count) => {
        const began = performance.now();
        const lines = problems(text(count)).split('\n');
        expect(lines.length).toBeLessThanOrEqual(100);
        expect(lines.join('\n')).toContain(problem);
        return performance.now() - began;
      });
      // Quadratic time would be sixteen times as long.
      expect(many).toBeLessThan(9 * few + 100);
    },
  );

  it.each([
    ['levels of maps', '{a: '.repeat(20_000), 'nested too deeply'],
    ['merged aliases of aliases', laughs((names) => `{ <<: [${names}] }`), 'Excessive alias count'],
  ])('of too many %s is refused', (_what, text, problem) => {
    expect(problems(text)).toContain(problem);
  });
});

function numbered(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index)).join('');
}

/** Nine levels, each of which repeats the one before nine times. */
function laughs(level: (names: string) => string): string {
  const names = 'abcdefghij';
  const levels = numbered(
    9,
    (index) => `x${index}: &${names[index + 1]} ${level(`${`*${names[index]},`.repeat(8)}*${names[index]}`)}\n`,
  );
  return `x: &a { q: 1 }\n${levels}shots: [*j]\n`;
}
