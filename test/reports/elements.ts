import { expect } from 'vitest';
import { blotOf } from '../render/picture/blots.js';
import type { Report } from './report.js';

const MARK = [1, 2, 3] as const;
const marked = (tag: string, width: number, height: number) =>
  `<${tag} style="display:block;width:${width}px;height:${height}px;background:rgb(1,2,3)"></${tag}>`;
const shadow = (content: string) => `<template shadowrootmode="open">${content}</template>`;
const page = (content: string) => `<!doctype html><style>body{margin:0}</style><h1>Words</h1>${content}`;

/** That the picture is all of the marked element, with the pixels that it fills only in part below a heading whose height is no whole px. */
function isMark(width: number, height: number): Report['right'] {
  return async (rendering) => {
    expect(rendering.width).toBe(width);
    expect([height, height + 1]).toContain(rendering.height);
    expect(await blotOf(rendering.content, MARK)).toMatchObject({ width, height, pixels: width * height });
  };
}

/** That nothing of the marked elements is left. */
const hasNoMark: Report['right'] = async ({ content }) =>
  expect(await blotOf(content, MARK)).toMatchObject({ pixels: 0 });

const moving = (name: string) =>
  `<style>@keyframes in{from{opacity:0}}</style>${marked(name, 100, 40).replace('style="', 'style="animation:in 9s;')}`;

export const ELEMENTS: Record<string, Report> = {
  'a popover beside an element further down is there in a full page': {
    source: 'https://drafts.csswg.org/css-anchor-position-1/#scroll',
    page: page(`<style>p{margin:900px 0;height:30px;anchor-name:--a}[popover]{position:fixed;inset:auto;margin:0;border:0;padding:0;position-anchor:--a;position-area:bottom center}</style><p></p>
      <div id=pop popover=manual>${marked('b', 150, 60)}</div><script>pop.showPopover()</script>`),
    request: { full_page: true },
    right: async ({ content }) =>
      expect(await blotOf(content, MARK)).toMatchObject({ width: 150, height: 60, pixels: 9_000 }),
  },
  'animations in a shadow tree, in one in a frame, and in a frame have ended': {
    source: 'https://github.com/chromaui/chromatic-cli/issues/924',
    page: page(
      `<x-a>${shadow(moving('b'))}</x-a><iframe style="border:0" srcdoc='${moving('i')}<x-b>${shadow(moving('u'))}</x-b>'></iframe>`,
    ),
    request: {},
    right: async ({ content }) => expect((await blotOf(content, MARK)).pixels).toBe(3 * 100 * 40),
  },
  'an element in the shadow tree of one host is pictured, and not that of another': {
    source: 'https://github.com/sindresorhus/capture-website/issues/100',
    page: page(
      `<x-card>${shadow(marked('b', 10, 10))}</x-card><x-card id=two>${shadow(`<p>two</p>${marked('b', 120, 60)}`)}</x-card>`,
    ),
    request: { selector: '#two >>> b' },
    right: isMark(120, 60),
  },
  'a comma separates selectors, whether they reach into shadow trees or not': {
    source: 'https://github.com/puppeteer/puppeteer/issues/858',
    page: page(
      `<style>p{margin:0}</style><p class=ad>${marked('b', 10, 10)}</p><x-a>${shadow(marked('i', 20, 20))}</x-a>`,
    ),
    request: { hide_selectors: ['.ad, x-a >>> i:not(.x, .y)'] },
    right: hasNoMark,
  },
  'shadow trees inside shadow trees are searched, with a `>>>` in quotes left alone': {
    source: 'https://github.com/puppeteer/puppeteer/issues/858',
    page: page(`<x-a title=">>>">${shadow(`<x-b>${shadow(`<x-c>${shadow(marked('b', 90, 30))}</x-c>`)}</x-b>`)}</x-a>`),
    request: { selector: 'x-a[title=">>>"] >>> b' },
    right: isMark(90, 30),
  },
  'an element in a frame is pictured whole, though it is larger than the frame and further down in it': {
    source: 'https://github.com/garris/BackstopJS/issues/673',
    page: {
      '/': page(
        '<div style="height:1000px"></div><iframe id=app src="inner" style="border:5px solid red;padding:3px"></iframe>',
      ),
      '/inner': page(`<div style="height:700px"></div>${marked('main', 200, 400)}<div style="height:300px"></div>`),
    },
    request: { selector: '#app >>> main' },
    right: isMark(200, 400),
  },
  'an element that its frame shows is pictured where it stands, and the frame keeps its size': {
    source: 'https://github.com/cypress-io/cypress/issues/14283',
    page: {
      '/': page(
        '<div style="height:100px"></div><iframe src="inner" style="margin-left:50px;transform:scale(.5)"></iframe>',
      ),
      '/inner': page(
        `<style>b{visibility:hidden}@media(width:300px) and (height:150px){b{visibility:visible}}</style>${marked('b', 100, 40)}`,
      ),
    },
    request: { selector: 'iframe >>> b' },
    right: isMark(50, 20),
  },
  'a frame inside a shadow tree is entered, and the shadow trees in it': {
    source: 'https://github.com/DevExpress/testcafe/issues/3673',
    page: {
      '/': page(`<x-shell>${shadow('<iframe src="inner"></iframe>')}</x-shell>`),
      '/inner': page(`<x-button>${shadow(marked('b', 80, 20))}</x-button>`),
    },
    request: { selector: 'x-shell >>> iframe >>> x-button >>> b', wait_for_selector: '>>> iframe >>> b' },
    right: isMark(80, 20),
  },
  'elements in shadow trees and frames are hidden and removed': {
    source: 'https://github.com/microsoft/playwright/issues/152',
    page: {
      '/': page(`<x-card>${shadow(marked('b', 50, 50))}</x-card><iframe id=app src="inner"></iframe>`),
      '/inner': page(`${marked('b', 50, 50)}<i>${marked('u', 20, 20)}</i>`),
    },
    request: { hide_selectors: ['x-card >>> b', '#app >>> b'], remove_selectors: ['#app >>> u'] },
    right: hasNoMark,
  },
};
