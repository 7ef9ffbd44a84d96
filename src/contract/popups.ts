/** Windows before a page that a visitor may read, which `block_popups` closes (extensions.md, Popups). */
export const POPUP_KINDS = ['newsletter', 'login', 'app_install', 'survey', 'paywall_notice'] as const;
export type PopupKind = (typeof POPUP_KINDS)[number];
