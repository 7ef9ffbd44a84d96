import type { CaptureOptions } from '../../contract/capture-request.js';

/** The four categories, in the order in which a request is matched against them: the first match blocks it. */
export const CATEGORIES = ['ads', 'trackers', 'chats', 'cookies'] as const;
export type Category = (typeof CATEGORIES)[number];

/** The request option of each category. */
export const OPTION_OF: Record<Category, string> = {
  ads: 'block_ads',
  trackers: 'block_trackers',
  chats: 'block_chats',
  cookies: 'block_cookie_banners',
};

/** The categories that a capture blocks. */
export function switchedOn(options: Pick<CaptureOptions, 'blockAds' | 'blockTrackers' | 'blockChats' | 'blockCookieBanners'>): Category[] {
  const on: Record<Category, boolean> = {
    ads: options.blockAds,
    trackers: options.blockTrackers,
    chats: options.blockChats,
    cookies: options.blockCookieBanners,
  };
  return CATEGORIES.filter((category) => on[category]);
}
