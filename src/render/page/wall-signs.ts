/** The table by which check-page.ts recognizes bot walls and CAPTCHA pages that replace a page: each vendor's signs. */

/**
 * The signs of a vendor's walls. Articles mention walls and sites load the same scripts, so a wall needs two independent
 * signs (decisions.md, Added). One of them is usually that the page has hardly any text, links and fields of its own.
 */
export interface WallSigns {
  vendor: string;
  /** A response header, `name` or `name: value`, of walls only. */
  wallHeader?: string;
  /** A response header of every answer that the vendor passes on. */
  siteHeader?: string;
  /** A selector of elements of walls only. */
  wall?: string;
  /** A part of the URL's path of walls only. */
  path?: string;
  /** A selector of elements that ordinary pages may have too, such as scripts. */
  part?: string;
  /** A selector of CAPTCHAs, one of which must be rendered: ordinary pages use them invisibly. */
  captcha?: string;
  /** Words of walls with such a part or CAPTCHA. They are matched against the title, a line break and the visible text. */
  question?: RegExp;
  /** Words of the vendor's walls. */
  words?: RegExp;
}

/** Phrases that ask visitors to prove that they are human, since ordinary pages may mention robots or verification. */
const HUMAN = new RegExp(
  `(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{N}])(${[
    `(verify(ing)?|confirm(ing)?|prove|check(ing)?|make sure|ensure|show)( that| if)? you(['’]re| are) (a |an |really |actually )*(human|real person|not a (ro)?bot\\b)`,
    '(not|are you) a (ro)?bot\\b',
    'are you (a )?(human|real person)',
    '(human|(ro)?bot|captcha) (verification|check|challenge)',
    'checking your browser',
    'security (check|verification)',
    '(complete|solve|pass|enter|type|fill (in|out)) (the |this |a |our )?(following )?((re|h)?captcha|challenge)',
    'unusual (traffic|activity)',
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
  ].join('|')})`,
  'iu',
);
/** Words of a page without any text but a CAPTCHA. */
const ANY = /^/;

/** The first row that matches names the vendor. */
export const WALL_SIGNS: readonly WallSigns[] = [
  {
    vendor: 'cloudflare',
    wallHeader: 'cf-mitigated',
    wall: '#challenge-running,#cf-challenge-running,#challenge-error-text,form[action*="__cf_chl_"]',
    part: '#cf-wrapper,#cf-content,[id^="cf-spinner"],#challenge-form,#challenge-stage,.cf-error-details,script[src*="/cdn-cgi/challenge-platform/"]:not([src*="/jsd/"])',
    question:
      /verif(y|ying) you are (a )?human|checking (your browser|if the site connection)|needs to review the security|enable javascript and cookies/i,
    words:
      /^(just a moment(\.{3}|…)|attention required!? \| cloudflare|please wait(\.{3}|…) \| cloudflare|access denied \| .* used cloudflare)/i,
  },
  {
    vendor: 'datadome',
    siteHeader: 'x-datadome',
    wall: 'iframe[src*="captcha-delivery.com"],script[src*="captcha-delivery.com"]',
  },
  {
    vendor: 'perimeterx',
    siteHeader: 'x-px-block',
    wall: '#px-captcha,#px-captcha-wrapper,script[src*="/captcha/captcha.js"][src*="PX"],script[src*="captcha.px-cdn.net"],script[src*="captcha.px-cloud.net"]',
    words: /^access to this page has been denied\.?\n/i,
  },
  {
    vendor: 'akamai',
    siteHeader: 'server: akamai',
    wall: '#sec-if-cpt-container,#sec-cpt-if,iframe[src*="/_sec/cp_challenge/"],script[src*="/_sec/cp_challenge/"]',
    words: /^access denied\n[\s\S]*reference\s*(?:#\s*)?[\da-f]+\.[\da-f]+\.\d+\.[\da-f]+|errors\.edgesuite\.net/i,
  },
  {
    vendor: 'imperva',
    siteHeader: 'x-iinfo',
    wall: 'iframe[src*="_Incapsula_Resource"],#interstitial-inprogress,form#distilCaptchaForm,#distilIdentificationBlock',
    part: 'meta[name="robots" i]~script[src*="_Incapsula_Resource"]',
    words: /^pardon our interruption(\.{3}|…)?\n|incapsula incident id/i,
  },
  {
    vendor: 'aws_waf',
    wallHeader: 'x-amzn-waf-action',
    wall: 'script[src*=".captcha.awswaf.com/"],script[src*=".captcha-sdk.awswaf.com/"]',
    part: '#challenge-container,#captcha-container,script[src*=".token.awswaf.com/"]',
    question: /confirm you are human|javascript is disabled|let's confirm/i,
  },
  {
    vendor: 'kasada',
    siteHeader: 'x-kpsdk-ct',
    wall: 'script[src*="/ips.js"][src*="KP_UIDz"]',
    part: 'script[src*="/149e9513-01fa-4fb0-aad4-566afd725d1b/"]',
  },
  {
    vendor: 'sucuri',
    wallHeader: 'x-sucuri-block',
    siteHeader: 'server: sucuri',
    wall: 'link[href*="sucuri-firewall-block"],link[href*="sucuri_firewall_block"]',
    words:
      /^((access denied - )?sucuri (website firewall|cloudproxy)( - .*access denied)?|you are being redirected\.*)\n/i,
  },
  {
    vendor: 'f5',
    part: 'script[src^="/TSPD/"],a[href^="javascript:history.back"]',
    words: /^request rejected\nthe requested url was rejected\. please consult with your administrator/i,
  },
  {
    vendor: 'vercel',
    wallHeader: 'x-vercel-mitigated',
    wall: 'script[src*="/.well-known/vercel/security/"]',
    words: /^vercel security checkpoint\n/i,
  },
  {
    vendor: 'google',
    wall: 'form#captcha-form',
    words: /our systems have detected unusual traffic from your computer network/i,
  },
  { vendor: 'amazon', wall: 'form[action*="/errors/validateCaptcha"]' },
  {
    vendor: 'ddos_guard',
    siteHeader: 'server: ddos-guard',
    part: 'script[src*="ddos-guard"],#ddg-captcha',
    words: /^ddos-guard\n/i,
  },
  { vendor: 'anubis', wall: '#anubis_challenge,script[src*="/.within.website/x/cmd/anubis/"]' },
  {
    vendor: 'yandex',
    path: '/showcaptcha',
    wall: 'form[action*="/checkcaptcha"],#checkbox-captcha-form,.CheckboxCaptcha',
  },
  { vendor: 'alibaba', path: '/_____tmd_____/punish', wall: '#nc_1_wrapper,#baxia-punish' },
  { vendor: 'baidu', wall: 'script[src*="wappass.baidu.com"]' },
  { vendor: 'fastly', part: 'script[src*="/_fs-ch-"]', words: /^client challenge\n/i },
  {
    vendor: 'siteground',
    path: '/.well-known/sgcaptcha/',
    wall: 'meta[http-equiv="refresh" i][content*="/.well-known/sgcaptcha/"],script[src*="/.well-known/sgcaptcha/"]',
  },
  {
    vendor: 'imunify360',
    wall: 'script[src*="imunify"],iframe[src*="imunify"]',
    words: /(bot[ -]protection|protected) by imunify360|imunify360 bot-protection/i,
  },
  { vendor: 'wordfence', words: /generated by wordfence|your access to this (site|service) has been limited/i },
  { vendor: 'azure_waf', words: /the request is blocked/i },
  { vendor: 'bunny', wall: 'script[src*="/.bunny-shield/"]' },
  { vendor: 'safeline', wall: 'script[src*="/.safeline/"]' },
  { vendor: 'crowdsec', words: /^crowdsec (captcha|ban|access forbidden)/i },
  { vendor: 'fortinet', words: /^(web page blocked|forti(web|gate)).*\n[\s\S]*attack id:?\s*\d+/i },
  { vendor: 'reddit', words: /you('ve| have) been blocked by network security|whoa there, pardner/i },
  {
    vendor: 'tencent',
    captcha: '#tcaptcha_transform,iframe[src*="captcha.qq.com"],iframe[src*="captcha.gtimg.com"]',
    question: ANY,
  },
  { vendor: 'geetest', captcha: '.geetest_captcha,.geetest_holder,.geetest_panel,.geetest_box', question: ANY },
  { vendor: 'arkose', captcha: 'iframe[src*="arkoselabs.com"],iframe[src*="funcaptcha.com"]', question: ANY },
  { vendor: 'radware', captcha: 'form[action*="perfdrive.com"],iframe[src*="perfdrive.com"]', question: HUMAN },
  {
    vendor: 'turnstile',
    captcha:
      '.cf-turnstile:not([data-size="invisible"]),div:has(>input[name="cf-turnstile-response"]),iframe[src*="challenges.cloudflare.com"]',
    question: HUMAN,
  },
  {
    vendor: 'hcaptcha',
    captcha:
      '.h-captcha:not(button,[data-size="invisible"]),iframe[src*="hcaptcha.com"]:not([src*="invisible"],[src*="frame=challenge"])',
    question: HUMAN,
  },
  {
    vendor: 'recaptcha',
    captcha:
      '.g-recaptcha:not(button,[data-size="invisible"]),iframe[src*="/recaptcha/"]:not([src*="size=invisible"],[src*="/bframe"])',
    question: HUMAN,
  },
  {
    vendor: 'unknown',
    captcha:
      '.frc-captcha,.mtcaptcha,altcha-widget,cap-widget,.smart-captcha,form[action*="captcha" i],input[name*="captcha" i],iframe[src*="captcha" i]:not([src*="invisible"],[src*="/bframe"],[src*="frame=challenge"])',
    question: HUMAN,
    words: HUMAN,
  },
];
