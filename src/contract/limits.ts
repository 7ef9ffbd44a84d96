/** The limits of interface.md, Limits, and the fixed ones of decisions.md. Units are in the names. */

export const BODY_LIMIT_BYTES = 256 * 1024;
export const BODY_DEPTH_LIMIT_LEVELS = 32;

/** A longer `url` is rejected, a longer `final_url` is cut (decisions.md, Added). */
export const URL_MAX_BYTES = 8_192;

export const VIEWPORT_WIDTH_PX = { min: 320, max: 3840, default: 1280 } as const;
export const VIEWPORT_HEIGHT_PX = { min: 240, max: 2160, default: 720 } as const;
export const DEVICE_SCALE_FACTOR = { min: 1, max: 3, default: 2 } as const;
export const QUALITY = { min: 1, max: 100, default: 90 } as const;
export const DELAY_MS = { min: 0, max: 30_000, default: 0 } as const;
export const TIMEOUT_MS = { min: 1_000, max: 60_000, default: 30_000 } as const;
export const SCROLL_DELAY_MS = { min: 0, max: 5_000 } as const;
export const SCROLL_BY_PX = { min: 120, max: 2_160 } as const;
/** The minimum for a signed link, which everybody can open as often as they like. */
export const LINK_CACHE_TTL_MIN_S = 60;
export const CACHE_TTL_DEFAULT_S = 3_600;

export const MARKERS_MAX_ITEMS = 32;
export const MARKER_MAX_CHARS = 500;

export const WEBHOOK_URL_MAX_CHARS = 2_048;
export const WEBHOOK_SECRET_CHARS = { min: 16, max: 256 } as const;

export const HEADER_NAME_MAX_CHARS = 256;
export const HEADER_VALUE_MAX_CHARS = 16_384;
/** `custom_css` and `custom_js`, each. */
export const CUSTOM_CODE_MAX_CHARS = 196_608;
export const LOCALE_MAX_CHARS = 100;
export const DEVICE_NAME_MAX_CHARS = 60;
export const FILE_PAGES_MAX_CHARS = 200;
export const TIMEZONE_MAX_CHARS = 100;

export const INSPECTION_LIMIT_CHARS = 12_000;

/** Endless pages are cut here (decisions.md, Capture semantics). */
export const FULL_PAGE_MAX_HEIGHT_PX = 30_000;
/** A job is ended by force this long after `timeout + delay`. */
export const CAPTURE_GRACE_MS = 30_000;

export const ATTEMPT_BUDGET = 2;

export const REQUEST_ID_PATTERN = /^[A-Za-z0-9_.-]{1,100}$/;
export const IDEMPOTENCY_KEY_PATTERN = /^[A-Za-z0-9._-]{1,128}$/;
export const IDEMPOTENCY_KEY_RULE = 'must be 1 to 128 letters, digits, dots, underscores or hyphens';

/** Largest side of one encoded picture, in output pixels. PNG's own limit is far beyond what Chromium paints. */
export const FORMAT_MAX_SIDE_PX = {
  webp: 16_383,
  jpeg: 65_535,
  png: 2_147_483_647,
  bmp: 2_147_483_647,
  avif: 16_384,
} as const;
/** Its encoder keeps the whole picture in memory, with 30 bytes for each pixel. */
export const AVIF_MAX_PIXELS = 25_000_000;
/** Largest side of a PDF page: 14,400 pt at 72 pt per inch and 96 CSS px per inch. */
export const PDF_PAGE_MAX_PX = 19_200;

/** extensions.md, Fields of CaptureRequest. */
export const HTML_MAX_BYTES = 196_608;
/** Files that a request brings along. */
export const PAGE_FILES_MAX = 200;
/** All files of a request together. */
export const PAGE_FILES_MAX_BYTES = 50_000_000;
export const PAGE_FILES_NAME_MAX_BYTES = 255;
/** Longest name in `data`; those of parameters are shorter. */
export const TEMPLATE_PARAMETER_MAX_CHARS = 64;
/** Given PDFs of one request: their bytes, and their pages. */
export const PDF_FILES_MAX = 100;
export const PDF_FILES_MAX_BYTES = 100_000_000;
export const PDF_PAGES_MAX = 5_000;
/** All PDFs of one answer: the parts of a file may each have what its pages share. */
export const PDFS_MADE_MAX_BYTES = 300_000_000;
/** Unfinished jobs with files: each keeps up to PAGE_FILES_MAX_BYTES in the storage. */
export const JOBS_WITH_FILES_MAX = 100;
export const JOBS_WITH_FILES_OF_ACCOUNT_MAX = 50;
export const COOKIES_MAX_ITEMS = 50;
export const COOKIE_NAME_MAX_CHARS = 1_024;
export const COOKIE_VALUE_MAX_CHARS = 4_096;
export const COOKIE_MAX_BYTES = 4_096;
export const ORIGIN_MAX_CHARS = 1_024;
export const STORAGE_STATE_MAX_BYTES = 65_536;
export const PADDING_MAX_PX = 200;
/** The maximum width of a page that is captured in all of its width. */
export const FULL_WIDTH_MAX_PX = 8_000;
/** The maximum height of a captured page. */
export const CLIP_MAX_PX = 100_000;
/** Selectors of `mask`, and the boxes that they may match together in one shot. */
export const MASK_MAX_ITEMS = 100;
export const MASK_MAX_BOXES = 2_000;
export const MASK_COLOR_MAX_CHARS = 32;
export const RESIZE_MAX_PX = 16_383;
export const PDF_LENGTH_MAX_CHARS = 32;
export const PDF_TEMPLATE_MAX_CHARS = 65_536;
export const PDF_HEADERS_MAX = 20;
/** Documents of `pdf.pages`, and the time that they may take together. */
export const PDF_DOCUMENTS_MAX = 50;
export const PDF_TITLE_MAX_CHARS = 500;
export const PDF_DOCUMENTS_MAX_MS = 600_000;
export const PDF_PAGE_CHOICE_MAX_CHARS = 256;
/** A page smaller than about a third of an inch has no printable area; the format allows at most 200. */
export const PDF_PAPER_INCHES = { min: 0.3, max: 200 } as const;
export const PDF_SCALE = { min: 0.1, max: 2 } as const;
/** A text of the metadata of a PDF, and the number of its keywords and of its further entries. */
export const METADATA_TEXT_MAX_CHARS = 2_000;
export const METADATA_KEYWORDS_MAX_ITEMS = 100;
export const METADATA_CUSTOM_MAX_ITEMS = 50;
export const ATTACHMENTS_MAX_ITEMS = 20;
/** All attachments of a PDF together. */
export const ATTACHMENTS_MAX_BYTES = 20_000_000;
export const FACTURX_MAX_CHARS = 1_000_000;
/** AES-256 uses no more than this of a password (ISO 32000-2, 7.6.4.3.3). */
export const PDF_PASSWORD_MAX_BYTES = 127;
/** `animate` (extensions.md, Motion). */
export const ANIMATION_MS = { min: 100, max: 20_000, default: 3_000 } as const;
export const ANIMATION_FPS = { min: 1, max: 30, default: 10 } as const;
/** The pixels of all frames together: 20 s of 1280 × 720 at 30 frames a second have 553 million. */
export const ANIMATION_MAX_PIXELS = 600_000_000;
/** The time that an animated picture may take beside the limits of every capture, at first and for each frame. */
export const ANIMATION_GRACE_MS = 10_000;
export const ANIMATION_FRAME_MAX_MS = 250;
/** Captures of one batch, and the body that they are sent in. */
export const BATCH_MAX = 1_000;
export const BATCH_BODY_MAX_BYTES = 4 * 1024 * 1024;
/** More than 1,000 requests need, each with thirty fields. */
export const BATCH_VALUES_MAX = 40_000;
/** Captures of batches that have not ended: of all accounts, and of one. */
export const BATCH_CAPTURES_MAX = 20_000;
export const BATCH_CAPTURES_OF_ACCOUNT_MAX = 10_000;
/** Captures on one page of a batch. */
export const BATCH_PAGE = { min: 1, max: 100, default: 100 } as const;
/** Jobs on one page of GET /v1/jobs. */
export const JOBS_PAGE = { min: 1, max: 100, default: 20 } as const;
/** More than there are codes, since a request may repeat them. */
export const TOLERATE_MAX_ITEMS = 32;

/** extensions.md, Page facts. */
export const FACT_TEXT_MAX_CHARS = 500;
export const FACT_URL_MAX_CHARS = 1_000;
/** Names, types, codes and other short values. */
export const FACT_NAME_MAX_CHARS = 100;
export const ELEMENT_NAME_MAX_CHARS = 120;
export const ELEMENT_SELECTOR_MAX_CHARS = 400;
export const ELEMENTS_MAX_ITEMS = 300;
export const LINKS_MAX_ITEMS = 500;
export const HEADINGS_MAX_ITEMS = 100;
export const ICONS_MAX_ITEMS = 20;
export const FEEDS_MAX_ITEMS = 20;
export const FONTS_MAX_ITEMS = 50;
export const PROPERTIES_MAX_ITEMS = 40;
export const REDIRECTS_MAX_ITEMS = 20;
export const FAILED_MAX_ITEMS = 20;
export const SLOWEST_MAX_ITEMS = 10;
export const CONSOLE_MAX_ITEMS = 20;
export const SHIFTED_MAX_ITEMS = 5;
/** All links, and all elements, each. */
export const FACT_LIST_MAX_CHARS = 40_000;
/** `extract`: its rules, the matches of each, the characters of one value and of all, and the cells of a table. */
export const EXTRACT_RULES_MAX = 100;
export const EXTRACT_MATCHES_MAX = 500;
export const EXTRACT_VALUE_MAX_CHARS = 20_000;
export const EXTRACT_MAX_CHARS = 200_000;
export const EXTRACT_TABLE_MAX = { rows: 1_000, columns: 100 } as const;
/** `steps`, and what one of them may hold. */
export const STEPS_MAX_ITEMS = 50;
export const STEP_SELECTOR_MAX_CHARS = 4_096;
export const STEP_TEXT_MAX_CHARS = 10_000;
export const STEP_KEY_MAX_CHARS = 100;
/** The time for which a step that may fail waits for its element, in ms of the page's time. */
export const OPTIONAL_STEP_MS = 3_000;
export const BLOCK_REQUESTS_MAX_ITEMS = 100;
export const BLOCK_PATTERN_MAX_CHARS = 2_048;
/** Hosts of `fail_if_resources_fail`. */
export const HOSTS_MAX_ITEMS = 100;
export const HOST_MAX_CHARS = 253;
export const CREDENTIAL_MAX_CHARS = 1_024;
/** Colors of a `palette`: as many as one byte tells apart. */
export const PALETTE_COLORS_MAX = 256;
/** Largest number of pixels of a picture that is turned, has a palette or is a BMP: all of it is kept in memory, up to 9 bytes a pixel. */
export const WHOLE_PICTURE_MAX_PIXELS = 25_000_000;
/** Pictures of one request with `captures`, `viewports` or `color_schemes`. */
export const PICTURES_MAX = 20;
export const COLOR_SCHEMES_MAX = 3;
export const PICTURE_NAME_CHARS = 64;
/** Encoded bytes of the pictures of one request. */
export const PICTURES_MAX_BYTES = 256_000_000;
/** The text of a document that a compatible API returns. */
export const DOCUMENT_MAX_CHARS = 10_000_000;
