import { describe, expect, it } from 'vitest';
import { fetches, importsOf } from '../../../src/render/page/navigate.js';

describe('the head of a style sheet with imports', () => {
  it.each([
    ['@import "a.css";b{}', '@import "a.css";'],
    ["@charset 'utf-8';\n/* ; */ @import url('a;b.css') screen; b{}", "@charset 'utf-8';\n/* ; */ @import url('a;b.css') screen; "],
    ['@layer a, b; @import url( a;b.css ) layer(a);@import "c.css";', '@layer a, b; @import url( a;b.css ) layer(a);@import "c.css";'],
    ['/* none */ b{} @import "late.css";', ''],
    ['@layer a{}@import "late.css";', ''],
    ['', ''],
  ])('of %j is %j', (css, head) => {
    expect(importsOf(css)).toBe(head);
  });

  it.each(['@import url(', "@import url('a'", '@import url("', '@import ', '@layer ', '/*', '@import url( "a" '])(
    'is found fast, however long the text after %j is',
    (start) => {
      const began = performance.now();
      expect(importsOf(start + ' '.repeat(250_000))).toBe('');
      expect(performance.now() - began).toBeLessThan(5_000);
    },
  );
});

it.each([
  ['b{background:url("a.png")}', true],
  ['b{background:image-set("a.png" 1x)}', true],
  ['@import "a.css"', true],
  ['b{filter:url(#x);mask:url( "#y")}', false],
  ['b{color:red}', false],
])('%s fetches something: %s', (css, does) => {
  expect(fetches(css)).toBe(does);
});
