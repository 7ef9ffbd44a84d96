import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  bodyOf,
  canonicalQuery,
  isSignedBy,
  pairsOf,
  readQuery,
  readSignedQuery,
  signQuery,
  singleValue,
} from '../../src/contract/render-link.js';

const { secret, vectors } = JSON.parse(readFileSync('docs/render-links.json', 'utf8')) as {
  secret: string;
  vectors: { name: string; query: string; canonical: string; signature: string }[];
};

const read = (query: string) => readQuery(query) ?? [];

describe('a signed link', () => {
  it.each(vectors)('has the canonical form and signature of the vector: $name', ({ query, canonical, signature }) => {
    expect(canonicalQuery(read(query))).toBe(canonical);
    expect(signQuery(read(query), secret)).toBe(signature);
    expect(isSignedBy(readSignedQuery(`${query}&signature=${signature}`), [secret])).toBe(true);
    expect(isSignedBy(readSignedQuery(`signature=${signature}&${query}`), ['another', secret])).toBe(true);
  });

  const [plain] = vectors;
  it.each([
    ['another value', (query: string) => query.replace('example.com', 'example.org')],
    ['a parameter twice', (query: string) => `${query}&url=https%3A%2F%2Fexample.com%2F`],
    ['no signature', (query: string) => query.replace(/&signature=.*/, '')],
    ['two signatures', (query: string) => `${query}&signature=${plain?.signature}`],
    ['a shorter signature', (query: string) => query.slice(0, -1)],
  ])('does not hold with %s', (_, tamper) => {
    const query = `${plain?.query}&signature=${plain?.signature}`;
    expect(isSignedBy(readSignedQuery(query), [secret])).toBe(true);
    expect(isSignedBy(readSignedQuery(tamper(query)), [secret])).toBe(false);
  });

  it('does not hold with another secret, or none', () => {
    const signed = readSignedQuery(`${plain?.query}&signature=${plain?.signature}`);
    expect(isSignedBy(signed, ['another'])).toBe(false);
    expect(isSignedBy(signed, [])).toBe(false);
  });

  it('is not readable where it is not UTF-8', () => {
    expect(readQuery('url=%ff')).toBeNull();
    expect(readQuery('url=%E0%A4%A')).toBeNull();
  });

  it('takes each parameter once only', () => {
    expect(singleValue(read('key=a&key=b'), 'key')).toBeNull();
    expect(singleValue(read('key=a'), 'key')).toBe('a');
  });
});

describe('flat fields', () => {
  it('take the type of their field', () => {
    const query =
      'url=https%3A%2F%2Fexample.com%2F&viewport.width=800&viewport.deviceScaleFactor=1.5&full_page=true&hide_selectors=.a&hide_selectors=.b&tolerate=target_error&pdf.paper=a4&pdf.margin.top=10mm&clip.x=5&palette.colors=16&rotate=90&key=k&expires=1&signature=s';
    expect(bodyOf(read(query))).toEqual({
      body: {
        url: 'https://example.com/',
        viewport: { width: 800, deviceScaleFactor: 1.5 },
        full_page: true,
        hide_selectors: ['.a', '.b'],
        tolerate: ['target_error'],
        pdf: { paper: 'a4', margin: { top: '10mm' } },
        clip: { x: 5 },
        palette: { colors: 16 },
        rotate: 90,
      },
      refused: [],
    });
  });

  it('are colors of a palette, too, whose name is repeated', () => {
    const palette = { colors: ['#000000', '#ffffff'], dither: 'none' };
    expect(bodyOf(read('palette.colors=%23000000&palette.dither=none&palette.colors=%23ffffff')).body).toEqual({
      palette,
    });
    expect(bodyOf(pairsOf({ palette })).body).toEqual({ palette });
  });

  it('stay text, or a list, where they do not fit', () => {
    expect(bodyOf(read('quality=high&full_page=yes&url=a&url=b&nothing=1')).body).toEqual({
      quality: 'high',
      full_page: 'yes',
      url: ['a', 'b'],
      nothing: '1',
    });
  });

  it('do not drop a plain value of an object', () => {
    expect(bodyOf(read('viewport=5&viewport.width=400')).body).toEqual({ viewport: '5' });
    expect(bodyOf(read('viewport.width=400&viewport=5')).body).toEqual({ viewport: [{ width: 400 }, '5'] });
  });

  it('hold nothing secret', () => {
    const { body, refused } = bodyOf(
      read('html=x&custom_js=x&webhook.url=x&proxy.server=x&headers.a=x&cookies=x&storage_state=x&base_url=x'),
    );
    expect(body).toEqual({});
    expect(refused).toEqual([
      'html',
      'custom_js',
      'webhook',
      'proxy',
      'headers',
      'cookies',
      'storage_state',
      'base_url',
    ]);
  });

  it('cannot reach a prototype', () => {
    const { body } = bodyOf(read('__proto__.polluted=1&constructor.prototype.polluted=1&a.b.c.d.e.f=1'));
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
  });

  it('are what a request body becomes', () => {
    const body = {
      url: 'https://example.com/',
      viewport: { width: 800 },
      full_page: true,
      hide_selectors: ['.a', '.b'],
    };
    expect(bodyOf(pairsOf(body)).body).toEqual(body);
    expect(() => pairsOf({ template: 'card', data: { speakers: [{ name: 'Ada' }] } })).toThrow(
      '`data.speakers` is a list of objects, which a link cannot have.',
    );
  });
});
