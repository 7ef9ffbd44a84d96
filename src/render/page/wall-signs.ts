/** The signs by which bot walls are recognised: one row per vendor and kind of page. A row matches if all of its conditions do. */

export interface WallSign {
  vendor: string;
  /** Matches a response header. */
  header?: { name: string; pattern: RegExp };
  /** Matches the title of the document. */
  title?: RegExp;
  /** Matches the path of the document's URL. */
  path?: RegExp;
  /** A selector that matches at least one element. */
  marker?: string;
  /** A selector of a captcha's container that matches at least one rendered element, even an empty one. */
  widget?: string;
  /** Matches the visible text. */
  text?: RegExp;
  /** The response status: one of these, or any that means that the page was not served (`isRefusal`). */
  status?: readonly number[] | 'refusal';
  /** Requires that the page has hardly any other text. */
  bare?: true;
}

/** A challenge may have a success status that ordinary pages do not have. */
export function isRefusal(status: number): boolean {
  return status === 202 || status >= 400;
}

/** Texts of home-made challenges. */
const ASKING =
  /^(are you (a )?(human|robot)|human verification|(ro)?bot (verification|check)|robot or human|security check( required)?|verify(ing)? (that )?you are (a )?human|captcha( challenge)?|access denied \(bot\)|checking your browser|one more step)\b/i;
const PLEA =
  /^.{0,120}\b(verify(ing)? (that )?you('re| are) (a )?human|prove (that )?you('re| are) (a )?human|confirm (that )?you('re| are) not a (ro)?bot|(please|must) (complete|solve|pass) (the|this) (security check|captcha)|checking your browser before accessing)/is;
/** Captchas of smaller vendors, and home-made ones. */
const CHALLENGE =
  '.frc-captcha,.mtcaptcha,altcha-widget,cap-widget,.smart-captcha,form[action*="captcha" i],input[name*="captcha" i],iframe[src*="captcha" i]:not([src*="invisible"],[src*="/bframe"],[src*="frame=challenge"])';

/**
 * The first matching row names the vendor; rows that prove a challenge by themselves come first. As articles mention bot
 * walls too, each row needs technical evidence (status, header, URL, element), and little other text or more evidence.
 */
export const WALL_SIGNS: readonly WallSign[] = [
  { vendor: 'cloudflare', header: { name: 'cf-mitigated', pattern: /challenge/i }, bare: true },
  { vendor: 'cloudflare', header: { name: 'cf-mitigated', pattern: /challenge/i }, status: 'refusal' },
  {
    vendor: 'cloudflare',
    title:
      /^(just a moment(\.{3}|…)|attention required!? \| cloudflare|please wait(\.{3}|…) \| cloudflare|access denied \| .* used cloudflare)/i,
    marker:
      '#cf-wrapper,#cf-content,[id^="cf-spinner"],#challenge-form,#challenge-running,#challenge-error-text,script[src*="/cdn-cgi/challenge-platform/"][src*="/orchestrate/"],.cf-error-details',
    bare: true,
  },
  { vendor: 'cloudflare', title: /^(just a moment(\.{3}|…)|attention required!? \| cloudflare)$/i, status: 'refusal', bare: true },
  {
    vendor: 'cloudflare',
    marker: '#challenge-running,#cf-challenge-running,#challenge-error-text,form[action*="__cf_chl_"]',
    bare: true,
  },
  {
    vendor: 'cloudflare',
    marker: 'script[src*="/cdn-cgi/challenge-platform/h/"]:not([src*="/jsd/"]),#challenge-stage,#challenge-form',
    text: /verif(y|ying) you are (a )?human|checking (your browser|if the site connection)|needs to review the security|enable javascript and cookies/i,
    bare: true,
  },
  {
    vendor: 'cloudflare',
    status: [403, 429, 503],
    header: { name: 'server', pattern: /^cloudflare$/i },
    marker: '#cf-wrapper,#cf-error-details,.cf-error-details',
  },
  { vendor: 'datadome', marker: 'iframe[src*="captcha-delivery.com"],script[src*="captcha-delivery.com"]', bare: true },
  { vendor: 'datadome', status: [401, 403, 405, 429], header: { name: 'x-datadome', pattern: /./ } },
  { vendor: 'datadome', status: [401, 403, 405, 429], header: { name: 'x-dd-b', pattern: /./ } },
  { vendor: 'perimeterx', marker: '#px-captcha,#px-captcha-wrapper,script[src*="/captcha/captcha.js"][src*="PX"]', bare: true },
  { vendor: 'perimeterx', marker: 'script[src*="captcha.px-cdn.net"],script[src*="captcha.px-cloud.net"]', bare: true },
  { vendor: 'perimeterx', title: /^access to this page has been denied\.?$/i, status: 'refusal', bare: true },
  { vendor: 'perimeterx', status: [403, 429], header: { name: 'x-px-block', pattern: /./ } },
  {
    vendor: 'akamai',
    marker: '#sec-if-cpt-container,#sec-cpt-if,iframe[src*="/_sec/cp_challenge/"],script[src*="/_sec/cp_challenge/"]',
    bare: true,
  },
  {
    vendor: 'akamai',
    title: /^access denied$/i,
    text: /reference\s*(?:#\s*)?[\da-f]+\.[\da-f]+\.\d+\.[\da-f]+/i,
    status: 'refusal',
    bare: true,
  },
  { vendor: 'akamai', text: /errors\.edgesuite\.net/i, status: 'refusal', bare: true },
  { vendor: 'akamai', status: [403, 429], header: { name: 'server', pattern: /akamai(ghost|netstorage)/i } },
  { vendor: 'imperva', marker: 'iframe[src*="_Incapsula_Resource"]', bare: true },
  { vendor: 'imperva', marker: 'meta[name="robots" i]~script[src*="_Incapsula_Resource"]', text: NO_WORDS(), bare: true },
  { vendor: 'imperva', marker: '#interstitial-inprogress,form#distilCaptchaForm,#distilIdentificationBlock', bare: true },
  { vendor: 'imperva', path: /^\/(_Incapsula_Resource|distil_(r_captcha|identify))/, bare: true },
  { vendor: 'imperva', text: /incapsula incident id/i, status: 'refusal', bare: true },
  {
    vendor: 'imperva',
    text: /incapsula incident id/i,
    header: { name: 'x-iinfo', pattern: /./ },
    bare: true,
  },
  { vendor: 'imperva', title: /^pardon our interruption(\.{3}|…)?$/i, status: 'refusal', bare: true },
  { vendor: 'imperva', title: /^pardon our interruption(\.{3}|…)?$/i, header: { name: 'x-iinfo', pattern: /./ }, bare: true },
  { vendor: 'imperva', status: [403, 429, 503], header: { name: 'x-iinfo', pattern: /./ } },
  { vendor: 'aws_waf', header: { name: 'x-amzn-waf-action', pattern: /challenge|captcha/i }, bare: true },
  { vendor: 'aws_waf', header: { name: 'x-amzn-waf-action', pattern: /challenge|captcha/i }, status: 'refusal' },
  {
    vendor: 'aws_waf',
    marker: '#challenge-container,#captcha-container',
    title: /human verification|^$/i,
    text: /confirm you are human|javascript is disabled|let's confirm/i,
    bare: true,
  },
  { vendor: 'aws_waf', marker: 'script[src*=".captcha.awswaf.com/"],script[src*=".captcha-sdk.awswaf.com/"]', bare: true },
  { vendor: 'aws_waf', marker: 'script[src*=".token.awswaf.com/"]', text: NO_WORDS(), bare: true },
  { vendor: 'kasada', status: [403, 405, 429], header: { name: 'x-kpsdk-ct', pattern: /./ } },
  { vendor: 'kasada', marker: 'script[src*="/ips.js"][src*="KP_UIDz"]', bare: true },
  { vendor: 'kasada', marker: 'script[src*="/149e9513-01fa-4fb0-aad4-566afd725d1b/"]', text: NO_WORDS(), bare: true },
  {
    vendor: 'sucuri',
    title: /^(access denied - )?sucuri (website firewall|cloudproxy)( - .*access denied)?$/i,
    status: 'refusal',
    bare: true,
  },
  {
    vendor: 'sucuri',
    title: /^(access denied - sucuri website firewall|sucuri website firewall - .*access denied|you are being redirected\.*)$/i,
    header: { name: 'server', pattern: /sucuri/i },
    bare: true,
  },
  { vendor: 'sucuri', marker: 'link[href*="sucuri-firewall-block"],link[href*="sucuri_firewall_block"]', bare: true },
  { vendor: 'sucuri', status: [403, 503], header: { name: 'x-sucuri-block', pattern: /./ } },
  {
    vendor: 'f5',
    text: /the requested url was rejected\. please consult with your administrator/i,
    status: 'refusal',
    bare: true,
  },
  // This page has status 200, and is recognised only by these words, its only text.
  {
    vendor: 'f5',
    title: /^request rejected$/i,
    text: /^the requested url was rejected\. please consult with your administrator\.\s+your support id is:? ?<?\d{8,}>?\s*(\[?go back\]?)?$/i,
    marker: 'body:not(:has(h1,h2,p,article,main,nav,header,footer,img))',
    bare: true,
  },
  { vendor: 'f5', marker: 'script[src^="/TSPD/"]', text: NO_WORDS(), bare: true },
  { vendor: 'vercel', header: { name: 'x-vercel-mitigated', pattern: /challenge|deny/i }, bare: true },
  { vendor: 'vercel', header: { name: 'x-vercel-mitigated', pattern: /challenge|deny/i }, status: 'refusal' },
  { vendor: 'vercel', title: /^vercel security checkpoint$/i, status: 'refusal', bare: true },
  { vendor: 'vercel', marker: 'script[src*="/.well-known/vercel/security/"]', bare: true },
  { vendor: 'google', text: /our systems have detected unusual traffic from your computer network/i, status: 'refusal', bare: true },
  { vendor: 'google', marker: 'form#captcha-form', text: /unusual traffic|not a robot|automated/i, bare: true },
  { vendor: 'amazon', marker: 'form[action*="/errors/validateCaptcha"]', bare: true },
  { vendor: 'ddos_guard', title: /^ddos-guard$/i, status: 'refusal', bare: true },
  {
    vendor: 'ddos_guard',
    title: /^ddos-guard$/i,
    marker: 'script[src*="ddos-guard"],#ddg-captcha',
    bare: true,
  },
  { vendor: 'ddos_guard', title: /^ddos-guard$/i, header: { name: 'server', pattern: /^ddos-guard$/i }, bare: true },
  { vendor: 'ddos_guard', status: [403, 429, 503], header: { name: 'server', pattern: /^ddos-guard$/i } },
  { vendor: 'anubis', marker: 'script#anubis_challenge,#anubis_challenge,script[src*="/.within.website/x/cmd/anubis/"]', bare: true },
  { vendor: 'yandex', marker: 'form[action*="/checkcaptcha"],#checkbox-captcha-form,.CheckboxCaptcha', bare: true },
  { vendor: 'yandex', path: /^\/showcaptcha/, bare: true },
  { vendor: 'alibaba', marker: '#nc_1_wrapper,#baxia-punish', bare: true },
  { vendor: 'alibaba', path: /\/_____tmd_____\/punish/, bare: true },
  { vendor: 'tencent', widget: '#tcaptcha_transform,iframe[src*="captcha.qq.com"],iframe[src*="captcha.gtimg.com"]', bare: true },
  { vendor: 'baidu', marker: 'script[src*="wappass.baidu.com"]', bare: true },
  {
    vendor: 'radware',
    marker: 'script[src*="perfdrive.com"],form[action*="perfdrive.com"],iframe[src*="perfdrive.com"]',
    text: HUMAN(),
    bare: true,
  },
  { vendor: 'fastly', title: /^client challenge$/i, marker: 'script[src*="/_fs-ch-"]', bare: true },
  { vendor: 'siteground', path: /^\/\.well-known\/(sg)?captcha\//, bare: true },
  {
    vendor: 'siteground',
    marker: 'meta[http-equiv="refresh" i][content*="/.well-known/sgcaptcha/"],script[src*="/.well-known/sgcaptcha/"]',
    bare: true,
  },
  {
    vendor: 'imunify360',
    marker: 'script[src*="imunify"],iframe[src*="imunify"]',
    bare: true,
  },
  { vendor: 'imunify360', text: /(bot[ -]protection|protected) by imunify360|imunify360 bot-protection/i, status: 'refusal', bare: true },
  {
    vendor: 'wordfence',
    text: /generated by wordfence|your access to this (site|service) has been limited/i,
    status: 'refusal',
    bare: true,
  },
  { vendor: 'azure_waf', header: { name: 'x-azure-ref', pattern: /./ }, status: [403], text: /the request is blocked/i, bare: true },
  { vendor: 'bunny', marker: 'script[src*="/.bunny-shield/"]', bare: true },
  { vendor: 'safeline', marker: 'script[src*="/.safeline/"]', bare: true },
  { vendor: 'crowdsec', title: /^crowdsec (captcha|ban|access forbidden)/i, marker: '.g-recaptcha,.h-captcha,.cf-turnstile', bare: true },
  { vendor: 'fortinet', text: /attack id:?\s*\d+/i, title: /web page blocked|fortiweb|fortigate/i, status: 'refusal', bare: true },
  { vendor: 'linkedin', status: [999] },
  { vendor: 'reddit', text: /you('ve| have) been blocked by network security|whoa there, pardner/i, status: 'refusal', bare: true },
  { vendor: 'geetest', widget: '.geetest_captcha,.geetest_holder,.geetest_panel,.geetest_box', bare: true },
  { vendor: 'arkose', widget: 'iframe[src*="arkoselabs.com"],iframe[src*="funcaptcha.com"]', bare: true },
  // These scripts are also used on ordinary pages, where they score visitors invisibly.
  {
    vendor: 'turnstile',
    widget:
      '.cf-turnstile:not([data-size="invisible"]),div:has(>input[name="cf-turnstile-response"]),iframe[src*="challenges.cloudflare.com"]',
    text: HUMAN(),
    bare: true,
  },
  {
    vendor: 'hcaptcha',
    widget: '.h-captcha:not(button,[data-size="invisible"]),iframe[src*="hcaptcha.com"]:not([src*="invisible"],[src*="frame=challenge"])',
    text: HUMAN(),
    bare: true,
  },
  {
    vendor: 'recaptcha',
    widget: '.g-recaptcha:not(button,[data-size="invisible"]),iframe[src*="/recaptcha/"]:not([src*="size=invisible"],[src*="/bframe"])',
    text: HUMAN(),
    bare: true,
  },
  { vendor: 'unknown', title: ASKING, status: 'refusal', bare: true },
  { vendor: 'unknown', title: ASKING, widget: CHALLENGE, bare: true },
  { vendor: 'unknown', text: PLEA, status: 'refusal', bare: true },
  { vendor: 'unknown', text: HUMAN(), widget: CHALLENGE, bare: true },
];

/** Requires a page without any text: these scripts are used on ordinary pages too. */
function NO_WORDS(): RegExp {
  return /^$/;
}

/** Whole phrases that ask visitors to prove that they are human, since ordinary pages may mention robots or verification. */
function HUMAN(): RegExp {
  const phrases = [
    `(verify(ing)?|confirm(ing)?|prove|check(ing)?|make sure|ensure|show)( that| if)? you(['’]re| are) (a |an |really |actually )*(human|real person|not a (ro)?bot\\b)`,
    '(not|are you) a (ro)?bot\\b',
    'are you (a )?(human|real person)',
    '(human|bot|captcha) (verification|check|challenge)',
    'checking your browser',
    'security (check|verification)',
    '(complete|solve|enter|pass|type|fill (in|out)) (the |this |a |our )?(following )?((re|h)?captcha|challenge)',
    'unusual (traffic|activity)',
    'access (to this (page|site) )?(is |has been )?(denied|blocked|restricted)',
    // German, Dutch, Swedish, Danish, Norwegian
    'kein(en)? (roboter|bot\\b)',
    '(ein )?mensch (sind|bist)',
    'captcha (lösen|eingeben|ausfüllen)',
    'geen robot',
    'een mens bent',
    '(inte|ikke) (är |er )?en robot',
    // French, Spanish, Portuguese, Italian
    'pas un robot',
    'êtes (bien )?(un )?(être )?humain',
    '(résou|résolvez|complét|rempli)[a-z]* (le|ce) captcha',
    'no (eres|es|soy|sea) un robot',
    '(eres|es) (un )?(ser )?humano',
    '(resuelv|resolv|complet)[a-z]* (el|este|o) captcha',
    'não (é|sou) um robô',
    'é (um )?(ser )?humano',
    'non (sei|sono|è) un robot',
    '(sei|è) (un )?(essere )?umano',
    '(risolv|complet)[a-z]* il captcha',
    // Polish, Russian, Turkish
    'nie (jesteś|jestem) robotem',
    'jesteś człowiekiem',
    'не робот',
    'вы (—|-)? ?человек',
    '(решите|введите|пройдите) капч',
    'robot olmad',
    'insan olduğ',
    // Japanese, Korean, Chinese
    'ロボットでは(ない|あり)',
    '人間である',
    '로봇이 아',
    '사람인지',
    '不是机器人',
    '不是機器人',
    '人机验证',
    '人機驗證',
  ];
  return new RegExp(`(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{N}])(${phrases.join('|')})`, 'iu');
}
