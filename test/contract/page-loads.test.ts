import { describe, expect, it } from 'vitest';
import { pageLoadsOf, pictureNames } from '../../src/contract/page-loads.js';
import { parse, pathsOf, refusal, URL_ONLY } from './parsing.js';

const optionsOf = (body: object) => parse({ ...URL_ONLY, ...body }).options;

describe('the loads of a request', () => {
  it('are one, with its own options, for one picture', () => {
    const options = optionsOf({ selector: 'main' });
    const [load, ...others] = pageLoadsOf(options);
    expect(others).toEqual([]);
    expect(load?.options).toBe(options);
    expect(load?.pictures).toEqual([{ name: null, options, all: null }]);
  });

  it('are those of a request for each picture alone', () => {
    const captures = [
      { name: 'low', clip: { x: 0, y: 900, width: 10, height: 10 } },
      { full_page: true, format: 'jpeg', quality: 40 },
    ];
    const [load] = pageLoadsOf(optionsOf({ captures, format: 'png' }));
    expect(load?.pictures.map(({ name }) => name)).toEqual(['low', 'capture-2']);
    expect(load?.pictures.map(({ options }) => options)).toEqual([
      optionsOf({ clip: captures[0]?.clip, format: 'png' }),
      optionsOf({ full_page: true, format: 'jpeg', quality: 40 }),
    ]);
  });

  it('have each viewport in each color scheme', () => {
    const options = optionsOf({
      viewports: [{ device: 'Galaxy S9+ landscape' }, { name: 'wide', width: 1_600 }],
      color_schemes: ['light', 'dark'],
      captures: [{ name: 'view' }, { name: 'all', selector_all: 'p', limit: 2 }],
    });
    expect(
      pageLoadsOf(options).map(({ options: { device, view, colorScheme } }) => [device, view.width, colorScheme]),
    ).toEqual([
      ['Galaxy S9+ landscape', 658, 'light'],
      ['Galaxy S9+ landscape', 658, 'dark'],
      [null, 1_600, 'light'],
      [null, 1_600, 'dark'],
    ]);
    expect(pictureNames(options)[0]).toBe('Galaxy-S9-landscape-light-view');
    expect(pictureNames(options).slice(-3)).toEqual(['wide-dark-view', 'wide-dark-all-1', 'wide-dark-all-2']);
  });

  it('leave a selector_all without a limit its share of 20', () => {
    const count = (body: object) => pictureNames(optionsOf(body)).length;
    expect(count({ captures: [{ selector_all: 'p' }] })).toBe(20);
    expect(count({ captures: [{}, { selector_all: 'p' }, { selector_all: 'a' }] })).toBe(19);
    expect(count({ captures: [{ selector_all: 'p' }, {}], color_schemes: ['light', 'dark', 'no-preference'] })).toBe(
      18,
    );
  });

  it('apply the defaults of the request where the format has them', () => {
    const [load] = pageLoadsOf(
      optionsOf({
        captures: [{ format: 'pdf' }, { format: 'jpeg' }, {}],
        format: 'png',
        resize: { width: 100 },
        omit_background: true,
      }),
    );
    expect(load?.pictures.map(({ options: { resize, omitBackground } }) => [resize?.width, omitBackground])).toEqual([
      [undefined, false],
      [100, false],
      [100, true],
    ]);
  });
});

describe('a request for several pictures', () => {
  it.each<[string, object]>([
    ['captures', { captures: Array.from({ length: 21 }, () => ({})) }],
    ['captures', { captures: [{ name: 'one' }, { name: 'one' }] }],
    ['captures', { captures: [{ name: 'one', selector_all: 'p', limit: 2 }, { name: 'one-2' }] }],
    [
      'captures',
      { captures: Array.from({ length: 7 }, () => ({})), color_schemes: ['light', 'dark', 'no-preference'] },
    ],
    ['captures.0.name', { captures: [{ name: '../up' }] }],
    ['viewports', { viewports: [{}, {}] }],
    ['color_schemes', { color_schemes: ['dark', 'dark'] }],
    ['delay', { color_schemes: ['light', 'dark'], delay: 16_000 }],
  ])('is refused at `%s`: %j', (path, body) => {
    expect(refusal({ ...URL_ONLY, ...body }).code).toBe('invalid_request');
    expect(pathsOf({ ...URL_ONLY, ...body })).toContain(path);
  });

  it.each<[string, object]>([
    ['selector', { captures: [{}], selector: 'p' }],
    ['full_page', { captures: [{}], full_page: true }],
    ['viewport', { viewports: [{}], viewport: {} }],
    ['color_scheme', { color_schemes: ['dark'], color_scheme: 'dark' }],
    ['captures.1.limit', { captures: [{}, { limit: 2 }] }],
    ['captures.0.selector_all', { captures: [{ selector: 'a', selector_all: 'b' }] }],
    ['captures.0.clip', { captures: [{ selector_all: 'a', clip: { x: 0, y: 0, width: 1, height: 1 } }] }],
    ['captures.0.max_height', { captures: [{ max_height: 100 }] }],
    ['captures.0.omit_background', { captures: [{ omit_background: true, format: 'jpeg' }] }],
    ['pdf', { captures: [{}], pdf: {} }],
    ['mask', { captures: [{}, { format: 'pdf' }], mask: ['.secret'] }],
    ['upload', { captures: [{}], upload: { url: 'https://bucket.example.com/a' } }],
    ['annotate', { color_schemes: ['dark'], annotate: true, inspect_page: true }],
  ])('does not combine `%s`: %j', (path, body) => {
    expect(refusal({ ...URL_ONLY, ...body }).code).toBe('unsupported_option');
    expect(pathsOf({ ...URL_ONLY, ...body })).toEqual([path]);
  });

  it('takes `pdf` for an entry of that format', () => {
    expect(pageLoadsOf(optionsOf({ captures: [{}, { format: 'pdf' }], pdf: { paper: 'a5' } }))).toHaveLength(1);
  });
});
