/**
 * The types of requests and responses, generated from the schemas of contract/ by way of openapi.json. Do not edit them: after a change
 * of a schema, run `node scripts/run-ts.mjs scripts/write-client-types.ts`.
 */

export interface CaptureData {
    /**
     * the requested URL, normalized
     * @example https://example.com/
     */
    url: string;
    /**
     * the URL after redirects
     * @example https://example.com/
     */
    final_url: string;
    /**
     * format of the artifact: png, jpeg, webp, bmp or pdf; gif or mp4 with `animate`
     * @example webp
     */
    format: string;
    /**
     * of the encoded artifact
     * @example 2560
     */
    width: number;
    /**
     * height of the artifact, in the same unit as `width`
     * @example 1440
     */
    height: number;
    /**
     * size of the artifact
     * @example 21044
     */
    bytes: number;
    /**
     * duration of the capture in milliseconds
     * @example 812
     */
    duration_ms: number;
    /**
     * whether a cached capture was reused. Default: `false`.
     * @example false
     */
    cached: boolean;
    /**
     * requests of the page that were blocked. Default: `0`.
     * @example 4
     */
    blocked_requests: number;
    /**
     * the artifact as a data URL; not sent by this server
     * @example data:image/png;base64,iVBORw0KGgo=
     */
    data_url?: string;
    /**
     * download location of the artifact
     * @example https://shots.example.com/artifacts/6J8hGk2Qw9ZrT4xYb1Lc0A.webp
     */
    cdn_url?: string;
    /**
     * the requested region
     * @example gb
     */
    region?: string;
    /**
     * observed country of the capture's public address
     * @example GB
     */
    egress_country?: string;
    /**
     * how the picture was made
     * @example {
     *       "version": 1,
     *       "algorithm": "by_sections",
     *       "sections": 1,
     *       "device_scale_factor": 2,
     *       "scroll_height": 720,
     *       "stopped_reason": "viewport",
     *       "truncated": false
     *     }
     */
    render_diagnostics?: {
        /**
         * version of these diagnostics
         * @example 1
         */
        version: number;
        /**
         * how the page was captured
         * @example by_sections
         * @enum {string}
         */
        algorithm: "by_sections" | "native" | "element";
        /**
         * sections that were stitched
         * @example 1
         */
        sections: number;
        /**
         * output pixels per CSS pixel
         * @example 2
         */
        device_scale_factor: number;
        /**
         * height of the page in CSS pixels
         * @example 720
         */
        scroll_height: number;
        /**
         * why the capture ended where it did: viewport, element, end_of_page, max_height, format_limit or time_limit
         * @example viewport
         */
        stopped_reason: string;
        /**
         * whether the page is longer than the picture
         * @example false
         */
        truncated: boolean;
    };
    /**
     * other remarks about the capture
     * @example {
     *       "final_url_cut": true,
     *       "warnings": [
     *         {
     *           "code": "target_error",
     *           "message": "The target answered with status 404."
     *         }
     *       ],
     *       "changed": {
     *         "blocked": [
     *           {
     *             "option": "block_trackers",
     *             "url": "https://metrics.example/collect.js",
     *             "rule": "||metrics.example^$3p",
     *             "list": "easyprivacy"
     *           }
     *         ],
     *         "banner": {
     *           "outcome": "rejected",
     *           "platform": "Onetrust"
     *         },
     *         "hidden": [
     *           "div.ad-slot"
     *         ],
     *         "expanded": [
     *           "main.feed"
     *         ],
     *         "pinned": [
     *           {
     *             "element": "nav#top.bar",
     *             "role": "top"
     *           }
     *         ],
     *         "scroll_unlocked": false,
     *         "clock": {
     *           "ahead_ms": 2300,
     *           "real_time_ms": 140,
     *           "held_ms": 80,
     *           "held_by": [
     *             {
     *               "kind": "fetch",
     *               "host": "api.example.com",
     *               "count": 2
     *             }
     *           ],
     *           "real_time_because": "socket"
     *         },
     *         "untrusted_content": true
     *       }
     *     }
     */
    diagnostics?: {
        /**
         * final_url was longer than 8192 bytes
         * @example true
         * @enum {boolean}
         */
        final_url_cut?: true;
        /**
         * failures that `tolerate` allowed, and what may be unexpected in the picture: `pdf_not_on_paper` (a PDF of the viewport, without `pdf`), `pdf_without_text` (the PDF holds pictures of the page), `density_lowered` (at the requested density the picture would be too large), `scaled_to_fit` (the page was wider than the paper), `content_missing` (the page shows parts only while they are scrolled to, and the picture lacks them), `missing_file` (`html` refers to files that are not there), `resources_failed` (images, styles, scripts or fonts of the page could not be loaded), `redirected_to_login` (the page shown is not the one requested, and asks for a password), `loaded_in_real_time` (its server refused it once its clock had run ahead), `content_cut_right` and `content_cut_left` (a full page is wider than its picture)
         * @example [
         *       {
         *         "code": "target_error",
         *         "message": "The target answered with status 404."
         *       }
         *     ]
         */
        warnings?: {
            /**
             * the problem that was tolerated
             * @example target_error
             * @enum {string}
             */
            code: "target_error" | "blocked_by_target" | "render_incomplete" | "pdf_not_on_paper" | "pdf_without_text" | "density_lowered" | "scaled_to_fit" | "missing_file" | "resources_failed" | "redirected_to_login" | "loaded_in_real_time" | "content_cut_right" | "content_cut_left" | "content_missing";
            /**
             * for people; may change
             * @example The target answered with status 404.
             */
            message: string;
        }[];
        /**
         * what was done to the page, with `explain=1` in the query or `inspect_page`
         * @example {
         *       "blocked": [
         *         {
         *           "option": "block_trackers",
         *           "url": "https://metrics.example/collect.js",
         *           "rule": "||metrics.example^$3p",
         *           "list": "easyprivacy"
         *         }
         *       ],
         *       "banner": {
         *         "outcome": "rejected",
         *         "platform": "Onetrust"
         *       },
         *       "hidden": [
         *         "div.ad-slot"
         *       ],
         *       "expanded": [
         *         "main.feed"
         *       ],
         *       "pinned": [
         *         {
         *           "element": "nav#top.bar",
         *           "role": "top"
         *         }
         *       ],
         *       "scroll_unlocked": false,
         *       "clock": {
         *         "ahead_ms": 2300,
         *         "real_time_ms": 140,
         *         "held_ms": 80,
         *         "held_by": [
         *           {
         *             "kind": "fetch",
         *             "host": "api.example.com",
         *             "count": 2
         *           }
         *         ],
         *         "real_time_because": "socket"
         *       },
         *       "untrusted_content": true
         *     }
         */
        changed?: {
            /**
             * the first 50 blocked requests
             * @example [
             *       {
             *         "option": "block_trackers",
             *         "url": "https://metrics.example/collect.js",
             *         "rule": "||metrics.example^$3p",
             *         "list": "easyprivacy"
             *       }
             *     ]
             */
            blocked: {
                /**
                 * the option that blocks the request; `destinations` if the server may not reach it, or its name has no address
                 * @example block_trackers
                 */
                option: string;
                /**
                 * without its query; only host and port for `destinations`
                 * @example https://metrics.example/collect.js
                 */
                url: string;
                /**
                 * the filter rule, or the value of the option; empty for `destinations`
                 * @example ||metrics.example^$3p
                 */
                rule: string;
                /**
                 * the filter list that has the rule; empty if it is not known
                 * @example easyprivacy
                 */
                list: string;
            }[];
            /**
             * what became of a consent banner
             * @example {
             *       "outcome": "rejected",
             *       "platform": "Onetrust"
             *     }
             */
            banner: {
                /**
                 * whether a consent banner was declined or only hidden
                 * @example rejected
                 * @enum {string}
                 */
                outcome: "none" | "rejected" | "hidden" | "failed";
                /**
                 * the consent platform, if it is known
                 * @example Onetrust
                 */
                platform?: string;
            };
            /**
             * elements that filter rules hide, at most 50
             * @example [
             *       "div.ad-slot"
             *     ]
             */
            hidden: string[];
            /**
             * scrolling boxes that were made as tall as their content
             * @example [
             *       "main.feed"
             *     ]
             */
            expanded: string[];
            /**
             * fixed and sticky elements, at most 50
             * @example [
             *       {
             *         "element": "nav#top.bar",
             *         "role": "top"
             *       }
             *     ]
             */
            pinned: {
                /**
                 * tag, id and classes of an element
                 * @example nav#top.bar
                 */
                element: string;
                /**
                 * its place in the picture: `top` or `bottom` of the page, `backdrop` (behind all of it), `in-flow` (where it stands without being pinned), `kept` (as the page has it), `away` (left out)
                 * @example top
                 */
                role: string;
            }[];
            /**
             * whether a page that prevented scrolling was made to scroll
             * @example false
             */
            scroll_unlocked: boolean;
            /**
             * how the page's clock ran, ms
             * @example {
             *       "ahead_ms": 2300,
             *       "real_time_ms": 140,
             *       "held_ms": 80,
             *       "held_by": [
             *         {
             *           "kind": "fetch",
             *           "host": "api.example.com",
             *           "count": 2
             *         }
             *       ],
             *       "real_time_because": "socket"
             *     }
             */
            clock: {
                /**
                 * the page's time that passed ahead of the real time
                 * @example 2300
                 */
                ahead_ms: number;
                /**
                 * the time that passed at the real pace
                 * @example 140
                 */
                real_time_ms: number;
                /**
                 * the real time for which requests held the clock
                 * @example 80
                 */
                held_ms: number;
                /**
                 * the requests that held the clock
                 * @example [
                 *       {
                 *         "kind": "fetch",
                 *         "host": "api.example.com",
                 *         "count": 2
                 *       }
                 *     ]
                 */
                held_by: {
                    /**
                     * type of the request
                     * @example fetch
                     */
                    kind: string;
                    /**
                     * its host
                     * @example api.example.com
                     */
                    host: string;
                    /**
                     * number of such requests at once
                     * @example 2
                     */
                    count: number;
                }[];
                /**
                 * why the clock kept to the real time: `socket`, `stream`, `polling`, or `off`
                 * @example socket
                 */
                real_time_because?: string;
            };
            /**
             * names, URLs and hosts come from the page
             * @example true
             * @enum {boolean}
             */
            untrusted_content: true;
        };
    };
    /**
     * what became of `upload`
     * @example {
     *       "state": "uploaded",
     *       "url": "https://bucket.example.com/home.webp",
     *       "bytes": 21044,
     *       "attempts": 1,
     *       "status": 200,
     *       "error": null
     *     }
     */
    upload?: {
        /**
         * whether the receiver has accepted the picture
         * @example uploaded
         * @enum {string}
         */
        state: "uploaded" | "failed";
        /**
         * `upload.url` of the request without its query
         * @example https://bucket.example.com/home.webp
         */
        url: string;
        /**
         * size of what was sent
         * @example 21044
         */
        bytes: number;
        /**
         * attempts that were made, at most 3
         * @example 1
         */
        attempts: number;
        /**
         * HTTP status of the last attempt; null without a response
         * @example 200
         */
        status: number | null;
        /**
         * why the upload failed; null if it did not
         * @example null
         */
        error: string | null;
    };
    /**
     * all pictures, the first included, if the request has `captures`, `viewports` or `color_schemes`
     * @example [
     *       {
     *         "name": "hero",
     *         "format": "webp",
     *         "width": 2560,
     *         "height": 840,
     *         "bytes": 9310,
     *         "cdn_url": "https://shots.example.com/artifacts/6J8hGk2Qw9ZrT4xYb1Lc0A.webp",
     *         "render_diagnostics": {
     *           "version": 1,
     *           "algorithm": "by_sections",
     *           "sections": 1,
     *           "device_scale_factor": 2,
     *           "scroll_height": 720,
     *           "stopped_reason": "viewport",
     *           "truncated": false
     *         },
     *         "warnings": [
     *           {
     *             "code": "target_error",
     *             "message": "The target answered with status 404."
     *           }
     *         ]
     *       }
     *     ]
     */
    captures?: {
        /**
         * its name in the request, or the one generated for it, such as `capture-1`
         * @example hero
         */
        name: string;
        /**
         * format of the artifact: png, jpeg, webp, bmp or pdf
         * @example webp
         */
        format: string;
        /**
         * of the encoded artifact
         * @example 2560
         */
        width: number;
        /**
         * height of the artifact, in the same unit as `width`
         * @example 840
         */
        height: number;
        /**
         * size of the artifact
         * @example 9310
         */
        bytes: number;
        /**
         * download location of the artifact
         * @example https://shots.example.com/artifacts/6J8hGk2Qw9ZrT4xYb1Lc0A.webp
         */
        cdn_url?: string;
        /**
         * how the picture was made
         * @example {
         *       "version": 1,
         *       "algorithm": "by_sections",
         *       "sections": 1,
         *       "device_scale_factor": 2,
         *       "scroll_height": 720,
         *       "stopped_reason": "viewport",
         *       "truncated": false
         *     }
         */
        render_diagnostics: {
            /**
             * version of these diagnostics
             * @example 1
             */
            version: number;
            /**
             * how the page was captured
             * @example by_sections
             * @enum {string}
             */
            algorithm: "by_sections" | "native" | "element";
            /**
             * sections that were stitched
             * @example 1
             */
            sections: number;
            /**
             * output pixels per CSS pixel
             * @example 2
             */
            device_scale_factor: number;
            /**
             * height of the page in CSS pixels
             * @example 720
             */
            scroll_height: number;
            /**
             * why the capture ended where it did: viewport, element, end_of_page, max_height, format_limit or time_limit
             * @example viewport
             */
            stopped_reason: string;
            /**
             * whether the page is longer than the picture
             * @example false
             */
            truncated: boolean;
        };
        /**
         * failures that `tolerate` allowed, and what may be unexpected in the picture: `pdf_not_on_paper` (a PDF of the viewport, without `pdf`), `pdf_without_text` (the PDF holds pictures of the page), `density_lowered` (at the requested density the picture would be too large), `scaled_to_fit` (the page was wider than the paper), `content_missing` (the page shows parts only while they are scrolled to, and the picture lacks them), `missing_file` (`html` refers to files that are not there), `resources_failed` (images, styles, scripts or fonts of the page could not be loaded), `redirected_to_login` (the page shown is not the one requested, and asks for a password), `loaded_in_real_time` (its server refused it once its clock had run ahead), `content_cut_right` and `content_cut_left` (a full page is wider than its picture)
         * @example [
         *       {
         *         "code": "target_error",
         *         "message": "The target answered with status 404."
         *       }
         *     ]
         */
        warnings?: {
            /**
             * the problem that was tolerated
             * @example target_error
             * @enum {string}
             */
            code: "target_error" | "blocked_by_target" | "render_incomplete" | "pdf_not_on_paper" | "pdf_without_text" | "density_lowered" | "scaled_to_fit" | "missing_file" | "resources_failed" | "redirected_to_login" | "loaded_in_real_time" | "content_cut_right" | "content_cut_left" | "content_missing";
            /**
             * for people; may change
             * @example The target answered with status 404.
             */
            message: string;
        }[];
    }[];
    /**
     * the text of the page and facts about it, with `inspect_page`
     * @example {
     *       "markdown": "# Example Domain",
     *       "accessible_tree": "- heading \"Example Domain\" [level=1]",
     *       "untrusted_content": true,
     *       "character_limit": 12000,
     *       "facts": {
     *         "title": "Tea – Shop",
     *         "description": "Teas from small gardens",
     *         "canonical": "https://shop.example/tea",
     *         "language": "en-GB",
     *         "theme_color": "#0a7d4f",
     *         "open_graph": {
     *           "og:type": "website"
     *         },
     *         "twitter": {
     *           "twitter:card": "summary"
     *         },
     *         "icons": [
     *           {
     *             "url": "https://shop.example/icon.svg",
     *             "rel": "icon",
     *             "sizes": "32x32"
     *           }
     *         ],
     *         "feeds": [
     *           {
     *             "url": "https://shop.example/feed.xml",
     *             "title": "News",
     *             "type": "application/rss+xml"
     *           }
     *         ],
     *         "headings": [
     *           {
     *             "level": 1,
     *             "text": "Tea"
     *           }
     *         ],
     *         "links": [
     *           {
     *             "url": "https://shop.example/green",
     *             "text": "Green tea",
     *             "rel": "nofollow"
     *           }
     *         ],
     *         "fonts": [
     *           {
     *             "family": "Inter",
     *             "weight": "400 700",
     *             "style": "normal"
     *           }
     *         ],
     *         "status": 200,
     *         "redirects": [
     *           {
     *             "url": "http://shop.example/",
     *             "status": 301
     *           }
     *         ],
     *         "requests": {
     *           "count": 42,
     *           "bytes": 812000,
     *           "by_type": {
     *             "image": {
     *               "count": 12,
     *               "bytes": 402000
     *             }
     *           },
     *           "failed": [
     *             {
     *               "url": "https://shop.example/app.js",
     *               "type": "script",
     *               "status": 404,
     *               "error": "net::ERR_CONNECTION_REFUSED"
     *             }
     *           ],
     *           "slowest": [
     *             {
     *               "url": "https://shop.example/app.js",
     *               "type": "script",
     *               "status": 404,
     *               "ms": 730,
     *               "bytes": 91000
     *             }
     *           ]
     *         },
     *         "console_errors": [
     *           {
     *             "text": "TypeError: cart is undefined",
     *             "url": "https://shop.example/app.js",
     *             "line": 12,
     *             "uncaught": true
     *           }
     *         ],
     *         "largest_contentful_paint": {
     *           "ms": 412,
     *           "element": "img.hero",
     *           "url": "https://shop.example/hero.webp"
     *         },
     *         "layout_shift": {
     *           "score": 0.04,
     *           "elements": [
     *             "div.banner"
     *           ]
     *         }
     *       },
     *       "elements": [
     *         {
     *           "ref": "e12-0k3f9a2-1m07qzb",
     *           "role": "button",
     *           "name": "Add to basket",
     *           "box": {
     *             "x": 40,
     *             "y": 320,
     *             "width": 160,
     *             "height": 44
     *           },
     *           "selector": "#add"
     *         }
     *       ]
     *     }
     */
    inspection?: {
        /**
         * main content as Markdown
         * @example # Example Domain
         */
        markdown: string;
        /**
         * outline of roles and names
         * @example - heading "Example Domain" [level=1]
         */
        accessible_tree: string;
        /**
         * always true: the text comes from the page
         * @example true
         * @enum {boolean}
         */
        untrusted_content: true;
        /**
         * maximum number of characters of each text
         * @example 12000
         * @enum {number}
         */
        character_limit: 12000;
        /**
         * facts about the page; absent if it did not answer in time
         * @example {
         *       "title": "Tea – Shop",
         *       "description": "Teas from small gardens",
         *       "canonical": "https://shop.example/tea",
         *       "language": "en-GB",
         *       "theme_color": "#0a7d4f",
         *       "open_graph": {
         *         "og:type": "website"
         *       },
         *       "twitter": {
         *         "twitter:card": "summary"
         *       },
         *       "icons": [
         *         {
         *           "url": "https://shop.example/icon.svg",
         *           "rel": "icon",
         *           "sizes": "32x32"
         *         }
         *       ],
         *       "feeds": [
         *         {
         *           "url": "https://shop.example/feed.xml",
         *           "title": "News",
         *           "type": "application/rss+xml"
         *         }
         *       ],
         *       "headings": [
         *         {
         *           "level": 1,
         *           "text": "Tea"
         *         }
         *       ],
         *       "links": [
         *         {
         *           "url": "https://shop.example/green",
         *           "text": "Green tea",
         *           "rel": "nofollow"
         *         }
         *       ],
         *       "fonts": [
         *         {
         *           "family": "Inter",
         *           "weight": "400 700",
         *           "style": "normal"
         *         }
         *       ],
         *       "status": 200,
         *       "redirects": [
         *         {
         *           "url": "http://shop.example/",
         *           "status": 301
         *         }
         *       ],
         *       "requests": {
         *         "count": 42,
         *         "bytes": 812000,
         *         "by_type": {
         *           "image": {
         *             "count": 12,
         *             "bytes": 402000
         *           }
         *         },
         *         "failed": [
         *           {
         *             "url": "https://shop.example/app.js",
         *             "type": "script",
         *             "status": 404,
         *             "error": "net::ERR_CONNECTION_REFUSED"
         *           }
         *         ],
         *         "slowest": [
         *           {
         *             "url": "https://shop.example/app.js",
         *             "type": "script",
         *             "status": 404,
         *             "ms": 730,
         *             "bytes": 91000
         *           }
         *         ]
         *       },
         *       "console_errors": [
         *         {
         *           "text": "TypeError: cart is undefined",
         *           "url": "https://shop.example/app.js",
         *           "line": 12,
         *           "uncaught": true
         *         }
         *       ],
         *       "largest_contentful_paint": {
         *         "ms": 412,
         *         "element": "img.hero",
         *         "url": "https://shop.example/hero.webp"
         *       },
         *       "layout_shift": {
         *         "score": 0.04,
         *         "elements": [
         *           "div.banner"
         *         ]
         *       }
         *     }
         */
        facts?: {
            /**
             * title of the document
             * @example Tea – Shop
             */
            title: string;
            /**
             * its `meta` description
             * @example Teas from small gardens
             */
            description?: string;
            /**
             * address that the page calls its own
             * @example https://shop.example/tea
             */
            canonical?: string;
            /**
             * `lang` of the document
             * @example en-GB
             */
            language?: string;
            /**
             * colour for the browser around the page
             * @example #0a7d4f
             */
            theme_color?: string;
            /**
             * Open Graph properties
             * @example {
             *       "og:type": "website"
             *     }
             */
            open_graph: {
                [key: string]: string;
            };
            /**
             * properties of the Twitter card
             * @example {
             *       "twitter:card": "summary"
             *     }
             */
            twitter: {
                [key: string]: string;
            };
            /**
             * icons of the page
             * @example [
             *       {
             *         "url": "https://shop.example/icon.svg",
             *         "rel": "icon",
             *         "sizes": "32x32"
             *       }
             *     ]
             */
            icons: {
                /**
                 * its address
                 * @example https://shop.example/icon.svg
                 */
                url: string;
                /**
                 * kind of the link
                 * @example icon
                 */
                rel: string;
                /**
                 * declared sizes
                 * @example 32x32
                 */
                sizes?: string;
            }[];
            /**
             * RSS, Atom and JSON feeds
             * @example [
             *       {
             *         "url": "https://shop.example/feed.xml",
             *         "title": "News",
             *         "type": "application/rss+xml"
             *       }
             *     ]
             */
            feeds: {
                /**
                 * its address
                 * @example https://shop.example/feed.xml
                 */
                url: string;
                /**
                 * its title
                 * @example News
                 */
                title?: string;
                /**
                 * its media type
                 * @example application/rss+xml
                 */
                type: string;
            }[];
            /**
             * visible headings, in the order of the document
             * @example [
             *       {
             *         "level": 1,
             *         "text": "Tea"
             *       }
             *     ]
             */
            headings: {
                /**
                 * 1 to 6
                 * @example 1
                 */
                level: number;
                /**
                 * its text
                 * @example Tea
                 */
                text: string;
            }[];
            /**
             * links of the document, each address once; at most 500
             * @example [
             *       {
             *         "url": "https://shop.example/green",
             *         "text": "Green tea",
             *         "rel": "nofollow"
             *       }
             *     ]
             */
            links: {
                /**
                 * absolute address
                 * @example https://shop.example/green
                 */
                url: string;
                /**
                 * what it is called
                 * @example Green tea
                 */
                text: string;
                /**
                 * its `rel`
                 * @example nofollow
                 */
                rel?: string;
            }[];
            /**
             * web fonts that the page has loaded
             * @example [
             *       {
             *         "family": "Inter",
             *         "weight": "400 700",
             *         "style": "normal"
             *       }
             *     ]
             */
            fonts: {
                /**
                 * name of the family
                 * @example Inter
                 */
                family: string;
                /**
                 * weight or range of weights
                 * @example 400 700
                 */
                weight: string;
                /**
                 * normal, italic or oblique
                 * @example normal
                 */
                style: string;
            }[];
            /**
             * HTTP status of the document
             * @example 200
             */
            status?: number;
            /**
             * addresses that led to the document, in order
             * @example [
             *       {
             *         "url": "http://shop.example/",
             *         "status": 301
             *       }
             *     ]
             */
            redirects: {
                /**
                 * without its query
                 * @example http://shop.example/
                 */
                url: string;
                /**
                 * its HTTP status; one below 300 is a document that went on by itself
                 * @example 301
                 */
                status?: number;
            }[];
            /**
             * requests of the document
             * @example {
             *       "count": 42,
             *       "bytes": 812000,
             *       "by_type": {
             *         "image": {
             *           "count": 12,
             *           "bytes": 402000
             *         }
             *       },
             *       "failed": [
             *         {
             *           "url": "https://shop.example/app.js",
             *           "type": "script",
             *           "status": 404,
             *           "error": "net::ERR_CONNECTION_REFUSED"
             *         }
             *       ],
             *       "slowest": [
             *         {
             *           "url": "https://shop.example/app.js",
             *           "type": "script",
             *           "status": 404,
             *           "ms": 730,
             *           "bytes": 91000
             *         }
             *       ]
             *     }
             */
            requests: {
                /**
                 * requests of the document
                 * @example 42
                 */
                count: number;
                /**
                 * bytes that were transferred
                 * @example 812000
                 */
                bytes: number;
                /**
                 * by type of the request
                 * @example {
                 *       "image": {
                 *         "count": 12,
                 *         "bytes": 402000
                 *       }
                 *     }
                 */
                by_type: {
                    [key: string]: {
                        /**
                         * requests
                         * @example 12
                         */
                        count: number;
                        /**
                         * bytes that were transferred
                         * @example 402000
                         */
                        bytes: number;
                    };
                };
                /**
                 * the first requests that failed or have a status from 400 on, without those that were blocked
                 * @example [
                 *       {
                 *         "url": "https://shop.example/app.js",
                 *         "type": "script",
                 *         "status": 404,
                 *         "error": "net::ERR_CONNECTION_REFUSED"
                 *       }
                 *     ]
                 */
                failed: {
                    /**
                     * without its query
                     * @example https://shop.example/app.js
                     */
                    url: string;
                    /**
                     * type of the request
                     * @example script
                     */
                    type: string;
                    /**
                     * HTTP status; absent if there was no response
                     * @example 404
                     */
                    status?: number;
                    /**
                     * Chromium's error
                     * @example net::ERR_CONNECTION_REFUSED
                     */
                    error?: string;
                }[];
                /**
                 * the requests that took longest
                 * @example [
                 *       {
                 *         "url": "https://shop.example/app.js",
                 *         "type": "script",
                 *         "status": 404,
                 *         "ms": 730,
                 *         "bytes": 91000
                 *       }
                 *     ]
                 */
                slowest: {
                    /**
                     * without its query
                     * @example https://shop.example/app.js
                     */
                    url: string;
                    /**
                     * type of the request
                     * @example script
                     */
                    type: string;
                    /**
                     * HTTP status; absent if there was no response
                     * @example 404
                     */
                    status?: number;
                    /**
                     * from the request to the end of its response
                     * @example 730
                     */
                    ms: number;
                    /**
                     * bytes that were transferred
                     * @example 91000
                     */
                    bytes: number;
                }[];
            };
            /**
             * errors in the console: uncaught exceptions and `console.error`
             * @example [
             *       {
             *         "text": "TypeError: cart is undefined",
             *         "url": "https://shop.example/app.js",
             *         "line": 12,
             *         "uncaught": true
             *       }
             *     ]
             */
            console_errors: {
                /**
                 * the message
                 * @example TypeError: cart is undefined
                 */
                text: string;
                /**
                 * where it arose, without its query
                 * @example https://shop.example/app.js
                 */
                url?: string;
                /**
                 * line in that file, counted from 1
                 * @example 12
                 */
                line?: number;
                /**
                 * whether it is an exception that nothing has caught
                 * @example true
                 * @enum {boolean}
                 */
                uncaught?: true;
            }[];
            /**
             * Largest Contentful Paint, in real time; absent if nothing was painted
             * @example {
             *       "ms": 412,
             *       "element": "img.hero",
             *       "url": "https://shop.example/hero.webp"
             *     }
             */
            largest_contentful_paint?: {
                /**
                 * ms since the navigation began
                 * @example 412
                 */
                ms: number;
                /**
                 * what was painted
                 * @example img.hero
                 */
                element?: string;
                /**
                 * address of its image, without its query
                 * @example https://shop.example/hero.webp
                 */
                url?: string;
            };
            /**
             * how much the page moved while it appeared
             * @example {
             *       "score": 0.04,
             *       "elements": [
             *         "div.banner"
             *       ]
             *     }
             */
            layout_shift?: {
                /**
                 * Cumulative Layout Shift
                 * @example 0.04
                 */
                score: number;
                /**
                 * what has moved in the worst moment
                 * @example [
                 *       "div.banner"
                 *     ]
                 */
                elements: string[];
            };
        };
        /**
         * visible elements that can be acted on, those in the picture first; absent if the page did not answer in time
         * @example [
         *       {
         *         "ref": "e12-0k3f9a2-1m07qzb",
         *         "role": "button",
         *         "name": "Add to basket",
         *         "box": {
         *           "x": 40,
         *           "y": 320,
         *           "width": 160,
         *           "height": 44
         *         },
         *         "selector": "#add"
         *       }
         *     ]
         */
        elements?: {
            /**
             * names the element in a later request
             * @example e12-0k3f9a2-1m07qzb
             */
            ref: string;
            /**
             * what it is
             * @example button
             */
            role: string;
            /**
             * what it is called
             * @example Add to basket
             */
            name: string;
            /**
             * in CSS px of the page, as for `clip`
             * @example {
             *       "x": 40,
             *       "y": 320,
             *       "width": 160,
             *       "height": 44
             *     }
             */
            box: {
                /**
                 * left edge
                 * @example 40
                 */
                x: number;
                /**
                 * top edge
                 * @example 320
                 */
                y: number;
                /**
                 * width
                 * @example 160
                 */
                width: number;
                /**
                 * height
                 * @example 44
                 */
                height: number;
            };
            /**
             * a selector of the element, as for the field `selector`
             * @example #add
             */
            selector: string;
        }[];
    };
}

export interface CaptureError {
    /**
     * what went wrong; decide by this and `retriable`
     * @example invalid_request
     * @enum {string}
     */
    code: "invalid_request" | "idempotency_conflict" | "unauthorized" | "forbidden" | "quota_exceeded" | "rate_limited" | "render_timeout" | "render_incomplete" | "navigation_failed" | "blocked_by_target" | "target_error" | "render_crashed" | "internal_error" | "unsupported_option" | "egress_unavailable" | "egress_mismatch";
    /**
     * for people; may change
     * @example The host name "nowhere.example" could not be resolved to a public address.
     */
    message: string;
    /**
     * whether the same request may succeed later
     * @example false
     */
    retriable: boolean;
    /**
     * id of the request
     * @example req_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    request_id: string;
    /**
     * what this code means
     * @example https://shots.example.com/docs/errors#navigation_failed
     */
    docs_url?: string;
    /**
     * free-form; may contain `job_id`
     * @example {
     *       "job_id": "job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8"
     *     }
     */
    details?: {
        [key: string]: unknown;
    };
}

export interface AcceptedJob {
    /**
     * id of the job
     * @example job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    job_id: string;
    /**
     * state of the job
     * @example waiting
     * @enum {string}
     */
    state: "waiting" | "prioritized" | "active" | "delayed" | "completed" | "failed" | "paused" | "unknown";
    /**
     * relative API path on the same origin
     * @example /v1/jobs/job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    poll_url: string;
}

export interface ErrorEnvelope {
    /**
     * whether the request succeeded
     * @example false
     * @enum {boolean}
     */
    ok: false;
    /**
     * id of the request
     * @example req_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    request_id: string;
    /**
     * what went wrong
     * @example {
     *       "code": "invalid_request",
     *       "message": "The host name \"nowhere.example\" could not be resolved to a public address.",
     *       "retriable": false,
     *       "request_id": "req_01K9Z8Y7X6W5V4T3S2R1Q0P9N8",
     *       "docs_url": "https://shots.example.com/docs/errors#navigation_failed",
     *       "details": {
     *         "job_id": "job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8"
     *       }
     *     }
     */
    error: CaptureError;
}

export interface CaptureRequest {
    /**
     * Public HTTP or HTTPS target. A bare hostname is normalized to HTTPS. Required unless `html` is given.
     * @example https://example.com/
     */
    url: string;
    /**
     * CSS-pixel viewport and output density; `device` takes precedence
     * @example {
     *       "width": 1280,
     *       "height": 720,
     *       "deviceScaleFactor": 2,
     *       "isMobile": false,
     *       "hasTouch": false
     *     }
     */
    viewport?: {
        /**
         * viewport width in CSS px. Default: `1280`.
         * @example 1280
         */
        width?: number;
        /**
         * viewport height in CSS px. Default: `720`.
         * @example 720
         */
        height?: number;
        /**
         * output pixels per CSS px. Default: `2`.
         * @example 2
         */
        deviceScaleFactor?: number;
        /**
         * emulate a mobile browser: the viewport meta tag is honoured. Default: `false`.
         * @example false
         */
        isMobile?: boolean;
        /**
         * emulate a touch screen. Default: `false`.
         * @example false
         */
        hasTouch?: boolean;
    };
    /**
     * device preset; takes precedence over `viewport`
     * @example desktop_standard
     * @enum {string}
     */
    device?: "desktop_standard" | "desktop_hd" | "desktop_2k" | "desktop_4k" | "iphone_15_pro" | "iphone_15_pro_max" | "iphone_17_pro_max" | "pixel_8" | "ipad_pro_11";
    /**
     * capture the whole scrollable page. Default: `false`.
     * @example false
     */
    full_page?: boolean;
    /**
     * how a full page is captured: with pinned elements moved to where they belong, or as the view at the top of the page shows them. Default: `by_sections`.
     * @example by_sections
     * @enum {string}
     */
    full_page_algorithm?: "by_sections" | "native";
    /**
     * ms between scroll steps of a full-page capture; by default, each step waits for what it started loading
     * @example 200
     */
    full_page_scroll_delay?: number;
    /**
     * scroll step of a full-page capture in CSS px; by default, half the viewport's height
     * @example 720
     */
    full_page_scroll_by?: number;
    /**
     * emulate prefers-reduced-motion: reduce, finish animations, and stop endless ones at their start. Default: `true`.
     * @example true
     */
    reduce_motion?: boolean;
    /**
     * format of the picture; `jpg` is jpeg. Default: `webp`.
     * @example webp
     * @enum {string}
     */
    format?: "png" | "jpeg" | "webp" | "bmp" | "pdf";
    /**
     * encoding quality; jpeg and webp only. Default: `90`.
     * @example 90
     */
    quality?: number;
    /**
     * ms to wait after the page has settled. Default: `0`.
     * @example 0
     */
    delay?: number;
    /**
     * ms for navigation, waits and checks together. Default: `30000`.
     * @example 30000
     */
    timeout?: number;
    /**
     * CSS selector of an element to wait for before the capture; `>>>` leads into open shadow trees and into frames of the same origin, as in `#frame >>> main`
     * @example #content
     */
    wait_for_selector?: string;
    /**
     * wait while the page looks like a loading shell: spinners, skeletons, hardly any text. Default: `false`.
     * @example false
     */
    wait_for_content?: boolean;
    /**
     * wait up to 5 s for the network, fonts and layout to settle; never fails the capture. Default: `true`.
     * @example true
     */
    wait_for_idle?: boolean;
    /**
     * event that the navigation waits for. Default: `load`.
     * @example load
     * @enum {string}
     */
    wait_until?: "load" | "domcontentloaded" | "networkidle";
    /**
     * fail if the page is still loading or looks like a loading shell. Default: `false`.
     * @example false
     */
    fail_if_incomplete?: boolean;
    /**
     * fail if the visible page lacks this text. Default: `[]`.
     * @example [
     *       "Checkout"
     *     ]
     */
    fail_if_content_missing?: string[];
    /**
     * fail if the visible page contains this text. Default: `[]`.
     * @example [
     *       "Access denied"
     *     ]
     */
    fail_if_content_contains?: string[];
    /**
     * fail if the height of the picture is below this, in output px
     * @example 400
     */
    min_capture_height?: number;
    /**
     * fail if the encoded picture is smaller than this, in bytes
     * @example 5000
     */
    min_capture_bytes?: number;
    /**
     * prefers-color-scheme: dark, unless `color_scheme` is set. Default: `false`.
     * @example false
     */
    dark_mode?: boolean;
    /**
     * prefers-color-scheme of the browser
     * @example light
     * @enum {string}
     */
    color_scheme?: "light" | "dark" | "no-preference";
    /**
     * browser locale, such as en-US; overrides the region's
     * @example en-GB
     */
    locale?: string;
    /**
     * IANA time zone, such as Europe/Berlin; overrides the region's
     * @example Europe/London
     */
    timezone?: string;
    /**
     * User-Agent of the browser
     * @example ExampleBot/1.0
     */
    user_agent?: string;
    /**
     * country whose locale and time zone are emulated, and where the egress address is expected to be
     * @example us
     * @enum {string}
     */
    region?: "us" | "ca" | "gb" | "ie" | "de" | "fr" | "es" | "it" | "nl" | "sg" | "au" | "jp" | "kr" | "in" | "br" | "mx" | "za" | "ae";
    /**
     * caller-supplied public proxy
     * @example {
     *       "server": "http://proxy.example.com:3128"
     *     }
     */
    proxy?: {
        /**
         * http, https or socks5 proxy on a public address, such as http://proxy.example.com:3128
         * @example http://proxy.example.com:3128
         */
        server: string;
        /**
         * comma-separated hosts that are reached without the proxy
         * @example cdn.example.com,.static.example.com
         */
        bypass?: string;
        /**
         * user name for the proxy
         * @example user
         */
        username?: string;
        /**
         * write-only
         * @example secret
         */
        password?: string;
    };
    /**
     * check that the egress country is that of `region`. Default: `true`.
     * @example true
     */
    verify_egress?: boolean;
    /**
     * block ads. Default: `true`.
     * @example true
     */
    block_ads?: boolean;
    /**
     * decline or hide cookie banners. Default: `true`.
     * @example true
     */
    block_cookie_banners?: boolean;
    /**
     * block chat widgets. Default: `true`.
     * @example true
     */
    block_chats?: boolean;
    /**
     * block trackers. Default: `true`.
     * @example true
     */
    block_trackers?: boolean;
    /**
     * capture only the first visible element that matches this CSS selector; `>>>` leads into open shadow trees and into frames of the same origin, as in `#frame >>> main`, and here also into those of other origins; not with format pdf
     * @example main
     */
    selector?: string;
    /**
     * hide elements that match this CSS selector, keeping their space; `>>>` leads into open shadow trees and into frames of the same origin, as in `#frame >>> main`. Default: `[]`.
     * @example [
     *       ".newsletter"
     *     ]
     */
    hide_selectors?: string[];
    /**
     * remove elements that match this CSS selector; `>>>` leads into open shadow trees and into frames of the same origin, as in `#frame >>> main`. Default: `[]`.
     * @example [
     *       ".newsletter"
     *     ]
     */
    remove_selectors?: string[];
    /**
     * CSS injected into the page from the first paint
     * @example header { position: static }
     */
    custom_css?: string;
    /**
     * JavaScript run in the page once `wait_until` is reached
     * @example document.querySelector('details').open = true
     */
    custom_js?: string;
    /**
     * headers sent to the target's origin only
     * @example {
     *       "Accept-Language": "en"
     *     }
     */
    headers?: {
        [key: string]: string;
    };
    /**
     * wait for completion; a slow capture still returns 202. Default: `true`.
     * @example true
     */
    sync?: boolean;
    /**
     * seconds; 0 requests a fresh capture. Default: `3600`.
     * @example 3600
     */
    cache_ttl?: number;
    /**
     * accepted for compatibility; every artifact is stored for download. Default: `false`.
     * @example false
     */
    store?: boolean;
    /**
     * extract Markdown and the accessibility tree of the page, facts about it, and the elements that can be acted on. Default: `false`.
     * @example false
     */
    inspect_page?: boolean;
    /**
     * completion callback
     * @example {
     *       "url": "https://hooks.example.com/done",
     *       "secret": "at least sixteen characters"
     *     }
     */
    webhook?: {
        /**
         * public HTTPS on port 443, no credentials, no fragment
         * @example https://hooks.example.com/done
         */
        url: string;
        /**
         * signing secret; write-only
         * @example at least sixteen characters
         */
        secret: string;
    };
    /**
     * HTML document to capture instead of `url`
     * @example <h1>Invoice 4711</h1>
     */
    html?: string;
    /**
     * URL that `html` is loaded at: its origin and the base of its relative links. Default: an origin without a server
     * @example https://example.com/
     */
    base_url?: string;
    /**
     * cookies set before the navigation
     * @example [
     *       {
     *         "name": "session",
     *         "value": "abc123"
     *       }
     *     ]
     */
    cookies?: {
        /**
         * cookie name
         * @example session
         */
        name: string;
        /**
         * cookie value; write-only
         * @example abc123
         */
        value: string;
        /**
         * the target's host or a parent domain of it. Default: the target's host only
         * @example example.com
         */
        domain?: string;
        /**
         * path prefix the cookie is sent to. Default: `/`.
         * @example /
         */
        path?: string;
        /**
         * send over https only. Default: `false`.
         * @example true
         */
        secure?: boolean;
        /**
         * hide the cookie from scripts. Default: `false`.
         * @example true
         */
        http_only?: boolean;
        /**
         * SameSite attribute; case does not matter
         * @example Lax
         * @enum {string}
         */
        same_site?: "Strict" | "Lax" | "None";
        /**
         * Unix seconds; -1 or absent for a session cookie
         * @example 1893456000
         */
        expires?: number;
    }[];
    /**
     * Playwright's storage state: cookies and local storage of a saved login
     * @example {
     *       "cookies": [],
     *       "origins": []
     *     }
     */
    storage_state?: {
        /**
         * cookies to set before the page is opened. Default: `[]`.
         * @example []
         */
        cookies?: {
            /**
             * name of the entry
             * @example session
             */
            name: string;
            /**
             * value of the entry
             * @example abc123
             */
            value: string;
            /**
             * host that the cookie is for; with a leading dot, also the hosts below it
             * @example example.com
             */
            domain: string;
            /**
             * path that the cookie is for. Default: `/`.
             * @example /
             */
            path?: string;
            /**
             * Unix seconds; -1 for a session cookie. Default: `-1`.
             * @example -1
             */
            expires?: number;
            /**
             * hidden from scripts. Default: `false`.
             * @example false
             */
            httpOnly?: boolean;
            /**
             * sent over HTTPS only. Default: `false`.
             * @example false
             */
            secure?: boolean;
            /**
             * when other sites may cause the cookie to be sent. Default: `Lax`.
             * @example Lax
             * @enum {string}
             */
            sameSite?: "Strict" | "Lax" | "None";
        }[];
        /**
         * local storage by origin. Default: `[]`.
         * @example []
         */
        origins?: {
            /**
             * scheme, host and port
             * @example https://example.com
             */
            origin: string;
            /**
             * entries of local storage. Default: `[]`.
             * @example []
             */
            localStorage?: {
                /**
                 * name of the entry
                 * @example session
                 */
                name: string;
                /**
                 * value of the entry
                 * @example abc123
                 */
                value: string;
            }[];
        }[];
    };
    /**
     * paged printing; format pdf only
     * @example {
     *       "paper": "a4",
     *       "margin": {
     *         "top": "10mm"
     *       }
     *     }
     */
    pdf?: {
        /**
         * paper size: a0, a1, a2, a3, a4, a5, a6, letter, legal, tabloid, ledger (case does not matter), or width and height. Default: `letter`.
         * @example a4
         */
        paper?: ("a0" | "a1" | "a2" | "a3" | "a4" | "a5" | "a6" | "letter" | "legal" | "tabloid" | "ledger") | {
            /**
             * Paper width.
             * @example 210mm
             */
            width: number | string;
            /**
             * Paper height.
             * @example 297mm
             */
            height: number | string;
        };
        /**
         * turn the paper by 90 degrees. Default: `false`.
         * @example false
         */
        landscape?: boolean;
        /**
         * page margins: top, right, bottom and left, or one length for all of them; a number is CSS px (default: none)
         * @example {
         *       "top": "10mm",
         *       "bottom": "10mm"
         *     }
         */
        margin?: number | string | {
            /**
             * Top margin. Default: `0`.
             * @example 10mm
             */
            top?: number | string;
            /**
             * Right margin. Default: `0`.
             * @example 10mm
             */
            right?: number | string;
            /**
             * Bottom margin. Default: `0`.
             * @example 10mm
             */
            bottom?: number | string;
            /**
             * Left margin. Default: `0`.
             * @example 10mm
             */
            left?: number | string;
        };
        /**
         * scale of the rendering, before `fit_width`. Default: `1`.
         * @example 1
         */
        scale?: number;
        /**
         * print background colors and images. Default: `true`.
         * @example true
         */
        print_background?: boolean;
        /**
         * pages to keep (default: all)
         * @example 1-3,5
         */
        page_ranges?: string;
        /**
         * HTML of the header on each page. Elements with the classes date, title, url, pageNumber and totalPages are filled in. Visible only within a page margin. Text is 10px high and begins and ends where the page's text does, unless the template sets a font size, or a padding or margin of 0.1in or more on that side. Runs no scripts, and loads nothing but data: URLs
         * @example <span style="font-size:9px">Page <span class="pageNumber"></span></span>
         */
        header_template?: string;
        /**
         * HTML of the footer on each page. Elements with the classes date, title, url, pageNumber and totalPages are filled in. Visible only within a page margin. Text is 10px high and begins and ends where the page's text does, unless the template sets a font size, or a padding or margin of 0.1in or more on that side. Runs no scripts, and loads nothing but data: URLs
         * @example <span style="font-size:9px">Page <span class="pageNumber"></span></span>
         */
        footer_template?: string;
        /**
         * print the header on the first page too. Default: `true`.
         * @example false
         */
        first_page_header?: boolean;
        /**
         * print the footer on the first page too; the page is counted in any case. Default: `true`.
         * @example false
         */
        first_page_footer?: boolean;
        /**
         * scale content that is wider than the paper down to its width, from `scale` to no less than about 0.07, with the warning `scaled_to_fit`; if false, what is too wide is cut off. Default: `true`.
         * @example false
         */
        fit_width?: boolean;
        /**
         * prefer the page's own @page size over `paper`. Default: `false`.
         * @example false
         */
        prefer_css_page_size?: boolean;
        /**
         * make the paper as high as the document needs, so that it has one page, up to 200 inches
         * @example true
         */
        single_page?: boolean;
        /**
         * CSS media type. Default: `print`.
         * @example print
         * @enum {string}
         */
        media?: "print" | "screen";
        /**
         * embed an outline made from the headings. Default: `false`.
         * @example true
         */
        outline?: boolean;
        /**
         * make a tagged (accessible) PDF. Default: `false`.
         * @example true
         */
        tagged?: boolean;
    };
    /**
     * capture only this part of the page
     * @example {
     *       "x": 0,
     *       "y": 0,
     *       "width": 640,
     *       "height": 480
     *     }
     */
    clip?: {
        /**
         * left edge, CSS px of the page
         * @example 0
         */
        x: number;
        /**
         * top edge, CSS px of the page
         * @example 0
         */
        y: number;
        /**
         * width, CSS px
         * @example 640
         */
        width: number;
        /**
         * height, CSS px
         * @example 480
         */
        height: number;
    };
    /**
     * CSS px kept around the element of `selector`, within the page
     * @example 16
     */
    padding?: number;
    /**
     * full page also in width: what lies beside the viewport is in the picture too, up to 8,000 CSS px; needs `full_page`. Default: `false`.
     * @example false
     */
    full_width?: boolean;
    /**
     * greatest height of a full page in CSS px; what lies below is left out, and `truncated` is true; needs `full_page`
     * @example 4000
     */
    max_height?: number;
    /**
     * paint over the boxes of all elements that match this CSS selector, above everything else in the picture; `>>>` leads into open shadow trees and into frames of the same origin, as in `#frame >>> main`; not with printed PDFs
     * @example [
     *       ".account-number"
     *     ]
     */
    mask?: string[];
    /**
     * colour of the boxes of `mask`, as #rrggbb, rgb(r, g, b) or a CSS name; by default #FF00FF
     * @example black
     */
    mask_color?: string;
    /**
     * transparent background where the page paints nothing; png and webp only. Default: `false`.
     * @example false
     */
    omit_background?: boolean;
    /**
     * leave the page's clock at the real time instead of running it ahead to the end of its animations. Default: `false`.
     * @example false
     */
    real_time?: boolean;
    /**
     * draw numbered boxes around the elements that can be acted on; needs `inspect_page`, whose `elements` have the same numbers. Default: `false`.
     * @example false
     */
    annotate?: boolean;
    /**
     * scale the finished image down, never up
     * @example {
     *       "width": 640
     *     }
     */
    resize?: {
        /**
         * output px
         * @example 640
         */
        width?: number;
        /**
         * output px
         * @example 480
         */
        height?: number;
        /**
         * how the image is fitted into `width` and `height`; if only one of them is given, the other follows from it. Default: `inside`.
         * @example inside
         * @enum {string}
         */
        fit?: "inside" | "cover" | "contain";
    };
    /**
     * turn the finished picture clockwise, in degrees
     * @example 90
     */
    rotate?: 90 | 180 | 270;
    /**
     * reduce the finished picture to these colours, for e-paper and other small screens; png and bmp only
     * @example {
     *       "colors": 2
     *     }
     */
    palette?: {
        /**
         * 2, 4, 16 or 256 greys from black to white, the 7 colours of ACeP e-paper, or a list of 2 to 256 colours as #rrggbb
         * @example 2
         */
        colors: 2 | 4 | 7 | 16 | 256 | string[];
        /**
         * how colours in between are imitated by dots; `none` takes the nearest colour, which suits text. Default: `floyd_steinberg`.
         * @example floyd_steinberg
         * @enum {string}
         */
        dither?: "floyd_steinberg" | "atkinson" | "none";
    };
    /**
     * an animated picture of the view: of what moves in it, or of the page as it scrolls
     * @example {
     *       "duration": 3000,
     *       "fps": 10
     *     }
     */
    animate?: {
        /**
         * ms of the page's time that the animated picture shows. Default: `3000`.
         * @example 3000
         */
        duration?: number;
        /**
         * frames a second. Default: `10`.
         * @example 10
         */
        fps?: number;
        /**
         * scroll from the top of the page to its end. Default: `false`.
         * @example false
         */
        scroll?: boolean;
        /**
         * format of the animated picture; mp4 needs the operator's STILLFRAME_FFMPEG. Default: `webp`.
         * @example webp
         * @enum {string}
         */
        format?: "webp" | "gif" | "mp4";
        /**
         * one pixel per CSS px, or as many as `viewport` or `device` say. Default: `css`.
         * @example css
         * @enum {string}
         */
        scale?: "css" | "device";
    };
    /**
     * error codes to tolerate: the page is captured anyway, and the failure becomes a warning
     * @example [
     *       "target_error"
     *     ]
     */
    tolerate?: ("target_error" | "blocked_by_target" | "render_incomplete")[];
    /**
     * upload the picture, too; `upload` of the result says what became of it
     * @example {
     *       "url": "https://bucket.example.com/home.webp?X-Amz-Signature=f00d"
     *     }
     */
    upload?: {
        /**
         * receives the picture by PUT, such as a presigned URL; judged like `webhook.url`; write-only
         * @example https://bucket.example.com/home.webp?X-Amz-Signature=f00d
         */
        url: string;
    };
    /**
     * what is done to the page before its picture, in this order
     * @example [
     *       {
     *         "action": "click",
     *         "selector": "text=Menu"
     *       }
     *     ]
     */
    steps?: {
        /**
         * what to do
         * @example click
         * @enum {string}
         */
        action: "click" | "hover" | "type" | "press" | "select" | "check" | "scroll_to" | "wait_for" | "evaluate" | "go_to";
        /**
         * Playwright's selector, such as CSS, `text=Sign in` or `role=button[name="Save"]`; the first visible match counts
         * @example text=Sign in
         */
        selector?: string;
        /**
         * wait_for: until nothing visible matches this selector
         * @example .spinner
         */
        hidden?: string;
        /**
         * type: the new content of the field; wait_for: until this text is visible
         * @example ada@example.com
         */
        text?: string;
        /**
         * type: in place of `text`, write-only
         * @example correct horse battery staple
         */
        secret?: string;
        /**
         * press: a key, such as Enter or Control+A
         * @example Enter
         */
        key?: string;
        /**
         * select: value or label of the option
         * @example de
         */
        value?: string;
        /**
         * check: remove the check mark instead
         * @example true
         */
        uncheck?: boolean;
        /**
         * go_to: public HTTP or HTTPS address; wait_for: until the address of the page is this, where `*` is any text
         * @example https://example.com/account
         */
        url?: string;
        /**
         * wait_for: until this JavaScript expression is true
         * @example window.ready === true
         */
        expression?: string;
        /**
         * evaluate: JavaScript to run, as `custom_js`
         * @example document.querySelector('details').open = true
         */
        script?: string;
        /**
         * wait_for: ms of the page's time
         * @example 500
         */
        ms?: number;
        /**
         * whether the capture goes on if the step fails. Default: `false`.
         * @example false
         */
        optional?: boolean;
    }[];
    /**
     * JavaScript expression that must become true before the capture; if it throws, the capture fails at once
     * @example window.chartReady === true
     */
    wait_for_function?: string;
    /**
     * block requests whose URL contains this, where `*` is any text; the page's own document is never blocked
     * @example [
     *       "*\/live-feed/*.json"
     *     ]
     */
    block_requests?: string[];
    /**
     * block requests of this type
     * @example [
     *       "font",
     *       "media"
     *     ]
     */
    block_resources?: ("stylesheet" | "image" | "media" | "font" | "script" | "texttrack" | "xhr" | "fetch" | "eventsource" | "manifest" | "frame" | "other")[];
    /**
     * user name and password for HTTP authentication, sent only when the target's own origin asks for them
     * @example {
     *       "username": "ada",
     *       "password": "secret"
     *     }
     */
    http_credentials?: {
        /**
         * user name
         * @example ada
         */
        username: string;
        /**
         * write-only
         * @example secret
         */
        password: string;
    };
    /**
     * position that the page gets; the permission to read it is granted
     * @example {
     *       "latitude": 52.52,
     *       "longitude": 13.4
     *     }
     */
    geolocation?: {
        /**
         * degrees north
         * @example 52.52
         */
        latitude: number;
        /**
         * degrees east
         * @example 13.4
         */
        longitude: number;
        /**
         * metres. Default: `0`.
         * @example 10
         */
        accuracy?: number;
    };
    /**
     * address of the page that the navigation comes from: the `Referer` of its first request, and `document.referrer`
     * @example https://www.example.com/
     */
    referer?: string;
    /**
     * accept invalid TLS certificates; only where STILLFRAME_ALLOW_INSECURE_TLS allows it. Default: `false`.
     * @example false
     */
    ignore_https_errors?: boolean;
    /**
     * pictures of one load of the page, at most 20: the view, or what an entry says
     * @example [
     *       {
     *         "name": "view"
     *       },
     *       {
     *         "name": "cards",
     *         "selector_all": ".card",
     *         "limit": 3
     *       },
     *       {
     *         "name": "page",
     *         "full_page": true,
     *         "format": "jpeg"
     *       }
     *     ]
     */
    captures?: {
        /**
         * name of its pictures among `data.captures`
         * @example hero
         */
        name?: string;
        /**
         * as `selector` of the request
         * @example header
         */
        selector?: string;
        /**
         * a picture of each visible element that matches, named name-1, name-2, …
         * @example .card
         */
        selector_all?: string;
        /**
         * greatest number of pictures of `selector_all`; default: as many as the request may still have
         * @example 5
         */
        limit?: number;
        /**
         * as `clip` of the request
         * @example {
         *       "x": 0,
         *       "y": 0,
         *       "width": 640,
         *       "height": 480
         *     }
         */
        clip?: {
            /**
             * left edge, CSS px of the page
             * @example 0
             */
            x: number;
            /**
             * top edge, CSS px of the page
             * @example 0
             */
            y: number;
            /**
             * width, CSS px
             * @example 640
             */
            width: number;
            /**
             * height, CSS px
             * @example 480
             */
            height: number;
        };
        /**
         * as `full_page` of the request
         * @example true
         */
        full_page?: boolean;
        /**
         * as `full_width` of the request
         * @example true
         */
        full_width?: boolean;
        /**
         * as `max_height` of the request
         * @example 4000
         */
        max_height?: number;
        /**
         * as `padding` of the request; also for `selector_all`
         * @example 16
         */
        padding?: number;
        /**
         * `jpg` is jpeg; default: the request's
         * @example png
         * @enum {string}
         */
        format?: "png" | "jpeg" | "webp" | "bmp" | "pdf";
        /**
         * default: the request's
         * @example 80
         */
        quality?: number;
        /**
         * default: the request's
         * @example {
         *       "width": 640
         *     }
         */
        resize?: {
            /**
             * output px
             * @example 640
             */
            width?: number;
            /**
             * output px
             * @example 480
             */
            height?: number;
            /**
             * how the image is fitted into `width` and `height`; if only one of them is given, the other follows from it. Default: `inside`.
             * @example inside
             * @enum {string}
             */
            fit?: "inside" | "cover" | "contain";
        };
        /**
         * default: the request's
         * @example true
         */
        omit_background?: boolean;
        /**
         * default: the request's
         * @example 90
         */
        rotate?: 90 | 180 | 270;
        /**
         * default: the request's
         * @example {
         *       "colors": 2
         *     }
         */
        palette?: {
            /**
             * 2, 4, 16 or 256 greys from black to white, the 7 colours of ACeP e-paper, or a list of 2 to 256 colours as #rrggbb
             * @example 2
             */
            colors: 2 | 4 | 7 | 16 | 256 | string[];
            /**
             * how colours in between are imitated by dots; `none` takes the nearest colour, which suits text. Default: `floyd_steinberg`.
             * @example floyd_steinberg
             * @enum {string}
             */
            dither?: "floyd_steinberg" | "atkinson" | "none";
        };
    }[];
    /**
     * viewports or devices in which the page is loaded and captured one after another, instead of `viewport` and `device`
     * @example [
     *       {
     *         "name": "phone",
     *         "device": "iphone_15_pro"
     *       },
     *       {
     *         "name": "desktop",
     *         "width": 1440,
     *         "height": 900
     *       }
     *     ]
     */
    viewports?: {
        /**
         * name of its pictures among `data.captures`
         * @example hero
         */
        name?: string;
        /**
         * device preset; takes precedence over the other members
         * @example desktop_standard
         * @enum {string}
         */
        device?: "desktop_standard" | "desktop_hd" | "desktop_2k" | "desktop_4k" | "iphone_15_pro" | "iphone_15_pro_max" | "iphone_17_pro_max" | "pixel_8" | "ipad_pro_11";
        /**
         * viewport width in CSS px. Default: `1280`.
         * @example 1280
         */
        width?: number;
        /**
         * viewport height in CSS px. Default: `720`.
         * @example 720
         */
        height?: number;
        /**
         * output pixels per CSS px. Default: `2`.
         * @example 2
         */
        deviceScaleFactor?: number;
        /**
         * emulate a mobile browser: the viewport meta tag is honoured. Default: `false`.
         * @example false
         */
        isMobile?: boolean;
        /**
         * emulate a touch screen. Default: `false`.
         * @example false
         */
        hasTouch?: boolean;
    }[];
    /**
     * colour schemes in which the page is loaded and captured one after another, instead of `color_scheme`
     * @example [
     *       "light",
     *       "dark"
     *     ]
     */
    color_schemes?: ("light" | "dark" | "no-preference")[];
}

export interface Comparison {
    /**
     * whether no pixel has changed and both have the same size
     * @example false
     */
    same: boolean;
    /**
     * whether `share` is at most `fail_above`
     * @example false
     */
    passed: boolean;
    /**
     * changed pixels as a share of all, from 0 to 1
     * @example 0.0162
     */
    share: number;
    /**
     * number of changed pixels; those that only one of the pictures has count
     * @example 9047
     */
    pixels: number;
    /**
     * boxes of what has changed, in px, the largest first, at most 102
     * @example [
     *       {
     *         "x": 32,
     *         "y": 380,
     *         "width": 200,
     *         "height": 48
     *       }
     *     ]
     */
    regions: {
        /**
         * distance from the left edge
         * @example 32
         */
        x: number;
        /**
         * distance from the top edge
         * @example 380
         */
        y: number;
        /**
         * width
         * @example 200
         */
        width: number;
        /**
         * height
         * @example 48
         */
        height: number;
    }[];
    /**
     * size of the earlier picture in px
     * @example {
     *       "width": 1280,
     *       "height": 8000
     *     }
     */
    before: {
        /**
         * width in px
         * @example 1280
         */
        width: number;
        /**
         * height in px
         * @example 8000
         */
        height: number;
    };
    /**
     * size of the later picture in px
     * @example {
     *       "width": 1280,
     *       "height": 8000
     *     }
     */
    after: {
        /**
         * width in px
         * @example 1280
         */
        width: number;
        /**
         * height in px
         * @example 8000
         */
        height: number;
    };
    /**
     * picture of the differences (webp); null if nothing has changed, or none was asked for
     * @example https://shots.example.com/artifacts/abcdefghijklmnopqrstuvwxyz234567.webp
     */
    picture_url: string | null;
}

export interface CompareRequest {
    /**
     * the earlier picture: the id of a job, the `cdn_url` of a picture of this server, a picture in base64 (also as `data:` URL, at most 8 MB), or a capture request, which is charged as usual
     * @example job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    before: string | CaptureRequest;
    /**
     * the later picture: the id of a job, the `cdn_url` of a picture of this server, a picture in base64 (also as `data:` URL, at most 8 MB), or a capture request, which is charged as usual
     * @example job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    after: string | CaptureRequest;
    /**
     * how different the colours of a pixel must be, from 0 (any difference) to 1. Default: `0.1`.
     * @example 0.1
     */
    threshold?: number;
    /**
     * pixels that differ only by antialiasing do not count. Default: `true`.
     * @example true
     */
    ignore_antialiasing?: boolean;
    /**
     * areas in px of the pictures that are not compared. Default: `[]`.
     * @example [
     *       {
     *         "x": 32,
     *         "y": 380,
     *         "width": 200,
     *         "height": 48
     *       }
     *     ]
     */
    mask?: {
        /**
         * distance from the left edge
         * @example 32
         */
        x: number;
        /**
         * distance from the top edge
         * @example 380
         */
        y: number;
        /**
         * width
         * @example 200
         */
        width: number;
        /**
         * height
         * @example 48
         */
        height: number;
    }[];
    /**
     * share of changed pixels above which `passed` is false. Default: `0`.
     * @example 0.001
     */
    fail_above?: number;
    /**
     * the picture of the differences. Default: `overlay`.
     * @example overlay
     * @enum {string}
     */
    picture?: "overlay" | "side_by_side" | "none";
}

export interface JobSnapshot {
    /**
     * id of the job
     * @example job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    id: string;
    /**
     * state of the job
     * @example waiting
     * @enum {string}
     */
    state: "waiting" | "prioritized" | "active" | "delayed" | "completed" | "failed" | "paused" | "unknown";
    /**
     * whether the submission waited for the capture
     * @example sync
     * @enum {string}
     */
    mode: "sync" | "async";
    /**
     * the captured URL without its query and fragment, `about:html` for `html`; absent if an older version accepted the job
     * @example https://example.com/reports/q3
     */
    url?: string;
    /**
     * of the capture submission
     * @example req_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    request_id: string;
    /**
     * 0 to 100, informational; see `state` for completion
     * @example 40
     */
    progress: number | string | null;
    /**
     * attempts so far
     * @example 1
     */
    attempts_made: number;
    /**
     * attempts that the job may take
     * @example 2
     */
    attempt_budget: number;
    /**
     * Unix ms
     * @example 1767225600000
     */
    enqueued_at: number;
    /**
     * where the result is sent; null without a webhook
     * @example {
     *       "url": "https://hooks.example.com/done",
     *       "event": "capture.completed"
     *     }
     */
    webhook: {
        /**
         * address of the receiver
         * @example https://hooks.example.com/done
         */
        url: string;
        /**
         * the event that was sent; null until the job has ended
         * @example capture.completed
         * @enum {string|null}
         */
        event: "capture.completed" | "capture.failed" | null;
    } | null;
    /**
     * present for terminal jobs
     * @example {
     *       "request_id": "req_01K9Z8Y7X6W5V4T3S2R1Q0P9N8",
     *       "mode": "sync",
     *       "ok": true,
     *       "duration_ms": 812,
     *       "attempts_made": 1,
     *       "enqueued_at": 1767225600000,
     *       "completed_at": 1767225600900,
     *       "data": {
     *         "url": "https://example.com/",
     *         "final_url": "https://example.com/",
     *         "format": "webp",
     *         "width": 2560,
     *         "height": 1440,
     *         "bytes": 21044,
     *         "duration_ms": 812,
     *         "cached": false,
     *         "blocked_requests": 4,
     *         "cdn_url": "https://shots.example.com/artifacts/6J8hGk2Qw9ZrT4xYb1Lc0A.webp",
     *         "region": "gb",
     *         "egress_country": "GB",
     *         "render_diagnostics": {
     *           "version": 1,
     *           "algorithm": "by_sections",
     *           "sections": 1,
     *           "device_scale_factor": 2,
     *           "scroll_height": 720,
     *           "stopped_reason": "viewport",
     *           "truncated": false
     *         },
     *         "upload": {
     *           "state": "uploaded",
     *           "url": "https://bucket.example.com/home.webp",
     *           "bytes": 21044,
     *           "attempts": 1,
     *           "status": 200,
     *           "error": null
     *         },
     *         "captures": [
     *           {
     *             "name": "hero",
     *             "format": "webp",
     *             "width": 2560,
     *             "height": 840,
     *             "bytes": 9310,
     *             "cdn_url": "https://shots.example.com/artifacts/6J8hGk2Qw9ZrT4xYb1Lc0A.webp",
     *             "render_diagnostics": {
     *               "version": 1,
     *               "algorithm": "by_sections",
     *               "sections": 1,
     *               "device_scale_factor": 2,
     *               "scroll_height": 720,
     *               "stopped_reason": "viewport",
     *               "truncated": false
     *             },
     *             "warnings": [
     *               {
     *                 "code": "target_error",
     *                 "message": "The target answered with status 404."
     *               }
     *             ]
     *           }
     *         ],
     *         "inspection": {
     *           "markdown": "# Example Domain",
     *           "accessible_tree": "- heading \"Example Domain\" [level=1]",
     *           "untrusted_content": true,
     *           "character_limit": 12000,
     *           "facts": {
     *             "title": "Tea – Shop",
     *             "description": "Teas from small gardens",
     *             "canonical": "https://shop.example/tea",
     *             "language": "en-GB",
     *             "theme_color": "#0a7d4f",
     *             "open_graph": {
     *               "og:type": "website"
     *             },
     *             "twitter": {
     *               "twitter:card": "summary"
     *             },
     *             "icons": [
     *               {
     *                 "url": "https://shop.example/icon.svg",
     *                 "rel": "icon",
     *                 "sizes": "32x32"
     *               }
     *             ],
     *             "feeds": [
     *               {
     *                 "url": "https://shop.example/feed.xml",
     *                 "title": "News",
     *                 "type": "application/rss+xml"
     *               }
     *             ],
     *             "headings": [
     *               {
     *                 "level": 1,
     *                 "text": "Tea"
     *               }
     *             ],
     *             "links": [
     *               {
     *                 "url": "https://shop.example/green",
     *                 "text": "Green tea",
     *                 "rel": "nofollow"
     *               }
     *             ],
     *             "fonts": [
     *               {
     *                 "family": "Inter",
     *                 "weight": "400 700",
     *                 "style": "normal"
     *               }
     *             ],
     *             "status": 200,
     *             "redirects": [
     *               {
     *                 "url": "http://shop.example/",
     *                 "status": 301
     *               }
     *             ],
     *             "requests": {
     *               "count": 42,
     *               "bytes": 812000,
     *               "by_type": {
     *                 "image": {
     *                   "count": 12,
     *                   "bytes": 402000
     *                 }
     *               },
     *               "failed": [
     *                 {
     *                   "url": "https://shop.example/app.js",
     *                   "type": "script",
     *                   "status": 404,
     *                   "error": "net::ERR_CONNECTION_REFUSED"
     *                 }
     *               ],
     *               "slowest": [
     *                 {
     *                   "url": "https://shop.example/app.js",
     *                   "type": "script",
     *                   "status": 404,
     *                   "ms": 730,
     *                   "bytes": 91000
     *                 }
     *               ]
     *             },
     *             "console_errors": [
     *               {
     *                 "text": "TypeError: cart is undefined",
     *                 "url": "https://shop.example/app.js",
     *                 "line": 12,
     *                 "uncaught": true
     *               }
     *             ],
     *             "largest_contentful_paint": {
     *               "ms": 412,
     *               "element": "img.hero",
     *               "url": "https://shop.example/hero.webp"
     *             },
     *             "layout_shift": {
     *               "score": 0.04,
     *               "elements": [
     *                 "div.banner"
     *               ]
     *             }
     *           },
     *           "elements": [
     *             {
     *               "ref": "e12-0k3f9a2-1m07qzb",
     *               "role": "button",
     *               "name": "Add to basket",
     *               "box": {
     *                 "x": 40,
     *                 "y": 320,
     *                 "width": 160,
     *                 "height": 44
     *               },
     *               "selector": "#add"
     *             }
     *           ]
     *         }
     *       },
     *       "worker_id": "shots-4711-0"
     *     }
     */
    result?: {
        /**
         * id of the request
         * @example req_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
         */
        request_id: string;
        /**
         * whether the submission waited for the capture
         * @example sync
         * @enum {string}
         */
        mode: "sync" | "async";
        /**
         * whether the capture succeeded; `data` is present if true, `error` if false
         * @example true
         */
        ok: boolean;
        /**
         * duration of the capture in milliseconds
         * @example 812
         */
        duration_ms: number;
        /**
         * attempts so far
         * @example 1
         */
        attempts_made: number;
        /**
         * time of the submission, Unix milliseconds
         * @example 1767225600000
         */
        enqueued_at: number;
        /**
         * end of the capture, Unix milliseconds
         * @example 1767225600900
         */
        completed_at: number;
        /**
         * the result
         * @example {
         *       "url": "https://example.com/",
         *       "final_url": "https://example.com/",
         *       "format": "webp",
         *       "width": 2560,
         *       "height": 1440,
         *       "bytes": 21044,
         *       "duration_ms": 812,
         *       "cached": false,
         *       "blocked_requests": 4,
         *       "cdn_url": "https://shots.example.com/artifacts/6J8hGk2Qw9ZrT4xYb1Lc0A.webp",
         *       "region": "gb",
         *       "egress_country": "GB",
         *       "render_diagnostics": {
         *         "version": 1,
         *         "algorithm": "by_sections",
         *         "sections": 1,
         *         "device_scale_factor": 2,
         *         "scroll_height": 720,
         *         "stopped_reason": "viewport",
         *         "truncated": false
         *       },
         *       "upload": {
         *         "state": "uploaded",
         *         "url": "https://bucket.example.com/home.webp",
         *         "bytes": 21044,
         *         "attempts": 1,
         *         "status": 200,
         *         "error": null
         *       },
         *       "captures": [
         *         {
         *           "name": "hero",
         *           "format": "webp",
         *           "width": 2560,
         *           "height": 840,
         *           "bytes": 9310,
         *           "cdn_url": "https://shots.example.com/artifacts/6J8hGk2Qw9ZrT4xYb1Lc0A.webp",
         *           "render_diagnostics": {
         *             "version": 1,
         *             "algorithm": "by_sections",
         *             "sections": 1,
         *             "device_scale_factor": 2,
         *             "scroll_height": 720,
         *             "stopped_reason": "viewport",
         *             "truncated": false
         *           },
         *           "warnings": [
         *             {
         *               "code": "target_error",
         *               "message": "The target answered with status 404."
         *             }
         *           ]
         *         }
         *       ],
         *       "inspection": {
         *         "markdown": "# Example Domain",
         *         "accessible_tree": "- heading \"Example Domain\" [level=1]",
         *         "untrusted_content": true,
         *         "character_limit": 12000,
         *         "facts": {
         *           "title": "Tea – Shop",
         *           "description": "Teas from small gardens",
         *           "canonical": "https://shop.example/tea",
         *           "language": "en-GB",
         *           "theme_color": "#0a7d4f",
         *           "open_graph": {
         *             "og:type": "website"
         *           },
         *           "twitter": {
         *             "twitter:card": "summary"
         *           },
         *           "icons": [
         *             {
         *               "url": "https://shop.example/icon.svg",
         *               "rel": "icon",
         *               "sizes": "32x32"
         *             }
         *           ],
         *           "feeds": [
         *             {
         *               "url": "https://shop.example/feed.xml",
         *               "title": "News",
         *               "type": "application/rss+xml"
         *             }
         *           ],
         *           "headings": [
         *             {
         *               "level": 1,
         *               "text": "Tea"
         *             }
         *           ],
         *           "links": [
         *             {
         *               "url": "https://shop.example/green",
         *               "text": "Green tea",
         *               "rel": "nofollow"
         *             }
         *           ],
         *           "fonts": [
         *             {
         *               "family": "Inter",
         *               "weight": "400 700",
         *               "style": "normal"
         *             }
         *           ],
         *           "status": 200,
         *           "redirects": [
         *             {
         *               "url": "http://shop.example/",
         *               "status": 301
         *             }
         *           ],
         *           "requests": {
         *             "count": 42,
         *             "bytes": 812000,
         *             "by_type": {
         *               "image": {
         *                 "count": 12,
         *                 "bytes": 402000
         *               }
         *             },
         *             "failed": [
         *               {
         *                 "url": "https://shop.example/app.js",
         *                 "type": "script",
         *                 "status": 404,
         *                 "error": "net::ERR_CONNECTION_REFUSED"
         *               }
         *             ],
         *             "slowest": [
         *               {
         *                 "url": "https://shop.example/app.js",
         *                 "type": "script",
         *                 "status": 404,
         *                 "ms": 730,
         *                 "bytes": 91000
         *               }
         *             ]
         *           },
         *           "console_errors": [
         *             {
         *               "text": "TypeError: cart is undefined",
         *               "url": "https://shop.example/app.js",
         *               "line": 12,
         *               "uncaught": true
         *             }
         *           ],
         *           "largest_contentful_paint": {
         *             "ms": 412,
         *             "element": "img.hero",
         *             "url": "https://shop.example/hero.webp"
         *           },
         *           "layout_shift": {
         *             "score": 0.04,
         *             "elements": [
         *               "div.banner"
         *             ]
         *           }
         *         },
         *         "elements": [
         *           {
         *             "ref": "e12-0k3f9a2-1m07qzb",
         *             "role": "button",
         *             "name": "Add to basket",
         *             "box": {
         *               "x": 40,
         *               "y": 320,
         *               "width": 160,
         *               "height": 44
         *             },
         *             "selector": "#add"
         *           }
         *         ]
         *       }
         *     }
         */
        data?: CaptureData;
        /**
         * what went wrong
         * @example {
         *       "code": "invalid_request",
         *       "message": "The host name \"nowhere.example\" could not be resolved to a public address.",
         *       "retriable": false,
         *       "request_id": "req_01K9Z8Y7X6W5V4T3S2R1Q0P9N8",
         *       "docs_url": "https://shots.example.com/docs/errors#navigation_failed",
         *       "details": {
         *         "job_id": "job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8"
         *       }
         *     }
         */
        error?: CaptureError;
        /**
         * which worker made the capture: host, process, slot
         * @example shots-4711-0
         */
        worker_id: string;
    };
}

export interface Usage {
    /**
     * name of the account
     * @example default
     */
    account: string;
    /**
     * billing period: a calendar month in UTC
     * @example 2026-11
     */
    period: string;
    /**
     * credits settled in this period
     * @example 1280
     */
    credits: number;
    /**
     * credits reserved by jobs that have not ended
     * @example 6
     */
    reserved: number;
    /**
     * credits per period; null for no limit
     * @example 5000
     */
    quota: number | null;
    /**
     * start of the next period, Unix ms
     * @example 1796083200000
     */
    resets_at: number;
    /**
     * jobs by state: queued and running now, ended in this period
     * @example {
     *       "waiting": 3,
     *       "prioritized": 3,
     *       "active": 3,
     *       "delayed": 3,
     *       "completed": 3,
     *       "failed": 3
     *     }
     */
    jobs: {
        /**
         * jobs in this state
         * @example 3
         */
        waiting: number;
        /**
         * jobs in this state
         * @example 3
         */
        prioritized: number;
        /**
         * jobs in this state
         * @example 3
         */
        active: number;
        /**
         * jobs in this state
         * @example 3
         */
        delayed: number;
        /**
         * jobs in this state
         * @example 3
         */
        completed: number;
        /**
         * jobs in this state
         * @example 3
         */
        failed: number;
    };
    /**
     * failed jobs of this period by code
     * @example {
     *       "navigation_failed": 2
     *     }
     */
    errors: {
        [key: string]: number;
    };
}

export interface WebhookDelivery {
    /**
     * id of the job
     * @example job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    job_id: string;
    /**
     * id of the delivery, the same for all attempts and redeliveries
     * @example dlv_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    delivery_id: string;
    /**
     * the event; null until the job has ended
     * @example capture.completed
     * @enum {string|null}
     */
    event: "capture.completed" | "capture.failed" | null;
    /**
     * address of the receiver
     * @example https://hooks.example.com/done
     */
    url: string;
    /**
     * state of the delivery
     * @example pending
     * @enum {string}
     */
    state: "pending" | "delivered" | "failed";
    /**
     * attempts of this generation so far
     * @example 1
     */
    attempts: number;
    /**
     * attempts that a generation may take
     * @example 5
     */
    max_attempts: number;
    /**
     * starts at 1; each redelivery adds 1
     * @example 1
     */
    generation: number;
    /**
     * HTTP status of the last attempt; null without a response
     * @example 200
     */
    last_status: number | null;
    /**
     * why the last attempt did not succeed
     * @example null
     */
    last_error: string | null;
    /**
     * Unix milliseconds
     * @example 1767225600950
     */
    last_attempt_at: number | null;
    /**
     * Unix milliseconds; null when none is due
     * @example null
     */
    next_attempt_at: number | null;
    /**
     * Unix milliseconds; null until it is delivered
     * @example 1767225600950
     */
    delivered_at: number | null;
}

export interface Health {
    /**
     * state of the job queue; the contract calls it so, although no Redis is used
     * @example ready
     * @enum {string}
     */
    redis: "ready" | "unavailable";
    /**
     * whether a browser has responded within the last 30 seconds
     * @example true
     */
    worker_ready: boolean;
    /**
     * whether the database responds
     * @example ready
     * @enum {string}
     */
    database: "ready" | "unavailable";
    /**
     * why the database or the storage is unavailable, and what the operator can do
     * @example The database cannot be written to at the moment. Try again shortly.
     */
    problem?: string;
    /**
     * where the pictures are kept: the data directory or a bucket
     * @example ready
     * @enum {string}
     */
    storage: "ready" | "unavailable";
    /**
     * browsers that are ready to capture
     * @example 2
     */
    ready_workers: number;
    /**
     * whether the renderers run in Chromium's sandbox, as the kernel reports it
     * @example true
     */
    sandboxed: boolean;
    /**
     * file descriptors of this server, on Linux; it is not ready above nine tenths of the limit
     * @example {
     *       "open": 212,
     *       "limit": 65536
     *     }
     */
    descriptors?: {
        /**
         * file descriptors that are open
         * @example 212
         */
        open: number;
        /**
         * how many may be open
         * @example 65536
         */
        limit: number;
    };
    /**
     * job counts by state
     * @example {
     *       "waiting": 0,
     *       "active": 1,
     *       "prioritized": 0,
     *       "delayed": 0,
     *       "completed": 120,
     *       "failed": 3,
     *       "paused": false,
     *       "total_pending": 1
     *     }
     */
    queue: {
        /**
         * queued asynchronous jobs
         * @example 0
         */
        waiting: number;
        /**
         * running jobs
         * @example 1
         */
        active: number;
        /**
         * queued synchronous jobs
         * @example 0
         */
        prioritized: number;
        /**
         * jobs waiting for a retry
         * @example 0
         */
        delayed: number;
        /**
         * jobs that succeeded and are still stored
         * @example 120
         */
        completed: number;
        /**
         * jobs that failed and are still stored
         * @example 3
         */
        failed: number;
        /**
         * whether the queue is paused
         * @example false
         */
        paused: boolean;
        /**
         * jobs that have not ended
         * @example 1
         */
        total_pending: number;
    };
    /**
     * credit reservations
     * @example {
     *       "pending": 1,
     *       "settled": 120,
     *       "released": 3,
     *       "oldest_pending_ms": 450
     *     }
     */
    settlement: {
        /**
         * reservations of jobs that have not ended
         * @example 1
         */
        pending: number;
        /**
         * reservations that were charged
         * @example 120
         */
        settled: number;
        /**
         * reservations that were released
         * @example 3
         */
        released: number;
        /**
         * age of the oldest pending reservation in milliseconds
         * @example 450
         */
        oldest_pending_ms: number;
    };
    /**
     * webhook deliveries
     * @example {
     *       "delivered": 12,
     *       "failed": 0,
     *       "errors": 1,
     *       "active": true
     *     }
     */
    webhooks: {
        /**
         * deliveries that succeeded
         * @example 12
         */
        delivered: number;
        /**
         * deliveries that failed for good
         * @example 0
         */
        failed: number;
        /**
         * attempts that failed
         * @example 1
         */
        errors: number;
        /**
         * whether deliveries are being sent
         * @example true
         */
        active: boolean;
    };
}

export interface JobPage {
    /**
     * jobs, newest first
     * @example []
     */
    jobs: JobSnapshot[];
    /**
     * null on the last page
     * @example MTIz
     */
    next_cursor: string | null;
}

export interface CaptureCompletedEvent {
    /**
     * name of the event
     * @example capture.completed
     * @enum {string}
     */
    event: "capture.completed";
    /**
     * id of the job
     * @example job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    job_id: string;
    /**
     * id of the request
     * @example req_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    request_id: string;
    /**
     * whether the request succeeded
     * @example true
     * @enum {boolean}
     */
    ok: true;
    /**
     * the result
     * @example {
     *       "url": "https://example.com/",
     *       "final_url": "https://example.com/",
     *       "format": "webp",
     *       "width": 2560,
     *       "height": 1440,
     *       "bytes": 21044,
     *       "duration_ms": 812,
     *       "cached": false,
     *       "blocked_requests": 4,
     *       "cdn_url": "https://shots.example.com/artifacts/6J8hGk2Qw9ZrT4xYb1Lc0A.webp",
     *       "region": "gb",
     *       "egress_country": "GB",
     *       "render_diagnostics": {
     *         "version": 1,
     *         "algorithm": "by_sections",
     *         "sections": 1,
     *         "device_scale_factor": 2,
     *         "scroll_height": 720,
     *         "stopped_reason": "viewport",
     *         "truncated": false
     *       },
     *       "upload": {
     *         "state": "uploaded",
     *         "url": "https://bucket.example.com/home.webp",
     *         "bytes": 21044,
     *         "attempts": 1,
     *         "status": 200,
     *         "error": null
     *       },
     *       "captures": [
     *         {
     *           "name": "hero",
     *           "format": "webp",
     *           "width": 2560,
     *           "height": 840,
     *           "bytes": 9310,
     *           "cdn_url": "https://shots.example.com/artifacts/6J8hGk2Qw9ZrT4xYb1Lc0A.webp",
     *           "render_diagnostics": {
     *             "version": 1,
     *             "algorithm": "by_sections",
     *             "sections": 1,
     *             "device_scale_factor": 2,
     *             "scroll_height": 720,
     *             "stopped_reason": "viewport",
     *             "truncated": false
     *           },
     *           "warnings": [
     *             {
     *               "code": "target_error",
     *               "message": "The target answered with status 404."
     *             }
     *           ]
     *         }
     *       ],
     *       "inspection": {
     *         "markdown": "# Example Domain",
     *         "accessible_tree": "- heading \"Example Domain\" [level=1]",
     *         "untrusted_content": true,
     *         "character_limit": 12000,
     *         "facts": {
     *           "title": "Tea – Shop",
     *           "description": "Teas from small gardens",
     *           "canonical": "https://shop.example/tea",
     *           "language": "en-GB",
     *           "theme_color": "#0a7d4f",
     *           "open_graph": {
     *             "og:type": "website"
     *           },
     *           "twitter": {
     *             "twitter:card": "summary"
     *           },
     *           "icons": [
     *             {
     *               "url": "https://shop.example/icon.svg",
     *               "rel": "icon",
     *               "sizes": "32x32"
     *             }
     *           ],
     *           "feeds": [
     *             {
     *               "url": "https://shop.example/feed.xml",
     *               "title": "News",
     *               "type": "application/rss+xml"
     *             }
     *           ],
     *           "headings": [
     *             {
     *               "level": 1,
     *               "text": "Tea"
     *             }
     *           ],
     *           "links": [
     *             {
     *               "url": "https://shop.example/green",
     *               "text": "Green tea",
     *               "rel": "nofollow"
     *             }
     *           ],
     *           "fonts": [
     *             {
     *               "family": "Inter",
     *               "weight": "400 700",
     *               "style": "normal"
     *             }
     *           ],
     *           "status": 200,
     *           "redirects": [
     *             {
     *               "url": "http://shop.example/",
     *               "status": 301
     *             }
     *           ],
     *           "requests": {
     *             "count": 42,
     *             "bytes": 812000,
     *             "by_type": {
     *               "image": {
     *                 "count": 12,
     *                 "bytes": 402000
     *               }
     *             },
     *             "failed": [
     *               {
     *                 "url": "https://shop.example/app.js",
     *                 "type": "script",
     *                 "status": 404,
     *                 "error": "net::ERR_CONNECTION_REFUSED"
     *               }
     *             ],
     *             "slowest": [
     *               {
     *                 "url": "https://shop.example/app.js",
     *                 "type": "script",
     *                 "status": 404,
     *                 "ms": 730,
     *                 "bytes": 91000
     *               }
     *             ]
     *           },
     *           "console_errors": [
     *             {
     *               "text": "TypeError: cart is undefined",
     *               "url": "https://shop.example/app.js",
     *               "line": 12,
     *               "uncaught": true
     *             }
     *           ],
     *           "largest_contentful_paint": {
     *             "ms": 412,
     *             "element": "img.hero",
     *             "url": "https://shop.example/hero.webp"
     *           },
     *           "layout_shift": {
     *             "score": 0.04,
     *             "elements": [
     *               "div.banner"
     *             ]
     *           }
     *         },
     *         "elements": [
     *           {
     *             "ref": "e12-0k3f9a2-1m07qzb",
     *             "role": "button",
     *             "name": "Add to basket",
     *             "box": {
     *               "x": 40,
     *               "y": 320,
     *               "width": 160,
     *               "height": 44
     *             },
     *             "selector": "#add"
     *           }
     *         ]
     *       }
     *     }
     */
    data: CaptureData;
    /**
     * whether the submission waited for the capture
     * @example sync
     * @enum {string}
     */
    mode: "sync" | "async";
    /**
     * attempts so far
     * @example 1
     */
    attempts_made: number;
    /**
     * duration of the capture in milliseconds
     * @example 812
     */
    duration_ms: number;
    /**
     * time of the submission, Unix milliseconds
     * @example 1767225600000
     */
    enqueued_at: number;
    /**
     * end of the capture, Unix milliseconds
     * @example 1767225600900
     */
    completed_at: number;
    /**
     * id of the delivery, the same for all attempts and redeliveries
     * @example dlv_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    delivery_id: string;
    /**
     * starts at 1; each redelivery adds 1
     * @example 1
     */
    delivery_generation: number;
}

export interface CaptureFailedEvent {
    /**
     * name of the event
     * @example capture.failed
     * @enum {string}
     */
    event: "capture.failed";
    /**
     * id of the job
     * @example job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    job_id: string;
    /**
     * id of the request
     * @example req_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    request_id: string;
    /**
     * whether the request succeeded
     * @example false
     * @enum {boolean}
     */
    ok: false;
    /**
     * what went wrong
     * @example {
     *       "code": "invalid_request",
     *       "message": "The host name \"nowhere.example\" could not be resolved to a public address.",
     *       "retriable": false,
     *       "request_id": "req_01K9Z8Y7X6W5V4T3S2R1Q0P9N8",
     *       "docs_url": "https://shots.example.com/docs/errors#navigation_failed",
     *       "details": {
     *         "job_id": "job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8"
     *       }
     *     }
     */
    error: CaptureError;
    /**
     * whether the submission waited for the capture
     * @example sync
     * @enum {string}
     */
    mode: "sync" | "async";
    /**
     * attempts so far
     * @example 1
     */
    attempts_made: number;
    /**
     * duration of the capture in milliseconds
     * @example 812
     */
    duration_ms: number;
    /**
     * time of the submission, Unix milliseconds
     * @example 1767225600000
     */
    enqueued_at: number;
    /**
     * end of the capture, Unix milliseconds
     * @example 1767225600900
     */
    completed_at: number;
    /**
     * id of the delivery, the same for all attempts and redeliveries
     * @example dlv_01K9Z8Y7X6W5V4T3S2R1Q0P9N8
     */
    delivery_id: string;
    /**
     * starts at 1; each redelivery adds 1
     * @example 1
     */
    delivery_generation: number;
}

/** Fields that a signed link must not have. */
export const NO_LINK_FIELDS = ["proxy","custom_js","headers","sync","webhook","html","base_url","cookies","storage_state","annotate","upload","steps","wait_for_function","http_credentials","captures","viewports","color_schemes"] as const;
