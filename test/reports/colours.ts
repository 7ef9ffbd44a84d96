import sharp from 'sharp';
import { expect } from 'vitest';
import type { Rendering } from '../../src/render/capture.js';
import type { Report } from './report.js';

/** That every pixel has this colour. */
function isAll(colour: [red: number, green: number, blue: number]): Report['right'] {
  return async ({ content }: Rendering) => {
    const { channels } = await sharp(content).stats();
    expect(channels.slice(0, 3).map(({ min, max }) => [min, max])).toEqual(colour.map((value) => [value, value]));
  };
}

export const COLOURS: Report[] = [
  {
    source: 'https://github.com/gotenberg/gotenberg/issues/571',
    title: 'a page that is nothing but the red of its body is a picture',
    page: '<body style="background:red">',
    right: isAll([255, 0, 0]),
  },
  {
    source: 'https://github.com/brenden/node-webshot/issues/187',
    title: 'a page that is nothing but the colour of its root element is a picture',
    page: '<!doctype html><html style="background:#0a7"><body></body></html>',
    right: isAll([0x00, 0xaa, 0x77]),
  },
  {
    source: 'https://github.com/spatie/browsershot/pull/20',
    title: 'a background that a style sheet of the request paints is a picture of the whole page',
    page: '<!doctype html><body style="margin:0"><div style="height:1500px"></div>',
    request: { custom_css: 'body{background:pink}', full_page: true },
    right: isAll([0xff, 0xc0, 0xcb]),
  },
  {
    source: 'https://github.com/coleam00/skills/issues/10',
    title: 'a grey is a picture too',
    page: '<!doctype html><body style="background:#808080">',
    right: isAll([0x80, 0x80, 0x80]),
  },
];
