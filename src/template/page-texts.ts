/**
 * Strings for our own markup, in every supported language. A missing string is a compile error.
 * Store names are written as on Apple's and Google's own buttons.
 */

export type PageTexts = {
  readonly dir: "ltr" | "rtl";
  /** Contains the app's name. `open_app` is used if the name is unknown. */
  readonly open: string;
  readonly open_app: string;
  readonly app_store: string;
  readonly play_store: string;
  readonly continue: string;
  /** The caption of the QR code. `qr_code` describes the code for screen readers. */
  readonly scan: string;
  readonly qr_code: string;
  /**
   * A hint in in-app browsers. `leave_how` contains the in-app browser's name and its menu's
   * symbol.
   */
  readonly leave: string;
  readonly leave_how: string;
  readonly not_found: string;
  readonly not_found_why: string;
};

export const pageTexts = {
  en: {
    dir: "ltr",
    open: "Open {app}",
    open_app: "Open the app",
    app_store: "Get it on the App Store",
    play_store: "Get it on Google Play",
    continue: "Continue in the browser",
    scan: "Scan with your phone’s camera to open it there",
    qr_code: "QR code of this link",
    leave: "Open this page in your browser",
    leave_how: "{browser} may not open the app. Tap {menu} and choose “Open in browser”.",
    not_found: "Link not found",
    not_found_why: "This link does not exist, or it no longer works.",
  },
  de: {
    dir: "ltr",
    open: "{app} öffnen",
    open_app: "App öffnen",
    app_store: "Laden im App Store",
    play_store: "Jetzt bei Google Play",
    continue: "Im Browser fortfahren",
    scan: "Mit der Kamera des Smartphones scannen und dort weitermachen",
    qr_code: "QR-Code dieses Links",
    leave: "Diese Seite im Browser öffnen",
    leave_how:
      "{browser} öffnet die App vielleicht nicht. Tippe auf {menu} und wähle „Im Browser öffnen“.",
    not_found: "Link nicht gefunden",
    not_found_why: "Diesen Link gibt es nicht, oder er funktioniert nicht mehr.",
  },
  fr: {
    dir: "ltr",
    open: "Ouvrir {app}",
    open_app: "Ouvrir l’application",
    app_store: "Télécharger dans l’App Store",
    play_store: "Disponible sur Google Play",
    continue: "Continuer dans le navigateur",
    scan: "Scannez ce code avec l’appareil photo de votre téléphone pour y continuer",
    qr_code: "Code QR de ce lien",
    leave: "Ouvrez cette page dans votre navigateur",
    leave_how:
      "{browser} n’ouvre pas toujours l’application. " +
      "Touchez {menu}, puis « Ouvrir dans le navigateur ».",
    not_found: "Lien introuvable",
    not_found_why: "Ce lien n’existe pas ou ne fonctionne plus.",
  },
  es: {
    dir: "ltr",
    open: "Abrir {app}",
    open_app: "Abrir la app",
    app_store: "Consíguelo en el App Store",
    play_store: "Disponible en Google Play",
    continue: "Continuar en el navegador",
    scan: "Escanea el código con la cámara del teléfono para continuar allí",
    qr_code: "Código QR de este enlace",
    leave: "Abre esta página en el navegador",
    leave_how: "Puede que {browser} no abra la app. Toca {menu} y elige «Abrir en el navegador».",
    not_found: "Enlace no encontrado",
    not_found_why: "Este enlace no existe o ya no funciona.",
  },
  pt: {
    dir: "ltr",
    open: "Abrir {app}",
    open_app: "Abrir o app",
    app_store: "Baixar na App Store",
    play_store: "Disponível no Google Play",
    continue: "Continuar no navegador",
    scan: "Leia o código com a câmera do celular para continuar nele",
    qr_code: "Código QR deste link",
    leave: "Abra esta página no navegador",
    leave_how:
      "Pode ser que {browser} não abra o app. Toque em {menu} e escolha “Abrir no navegador”.",
    not_found: "Link não encontrado",
    not_found_why: "Este link não existe ou não funciona mais.",
  },
  it: {
    dir: "ltr",
    open: "Apri {app}",
    open_app: "Apri l’app",
    app_store: "Scarica su App Store",
    play_store: "Disponibile su Google Play",
    continue: "Continua nel browser",
    scan: "Inquadra il codice con la fotocamera del telefono per continuare lì",
    qr_code: "Codice QR di questo link",
    leave: "Apri questa pagina nel browser",
    leave_how: "{browser} potrebbe non aprire l’app. Tocca {menu} e scegli “Apri nel browser”.",
    not_found: "Link non trovato",
    not_found_why: "Questo link non esiste o non funziona più.",
  },
  nl: {
    dir: "ltr",
    open: "{app} openen",
    open_app: "App openen",
    app_store: "Download in de App Store",
    play_store: "Ontdek het op Google Play",
    continue: "Verder in de browser",
    scan: "Scan de code met de camera van je telefoon om daar verder te gaan",
    qr_code: "QR-code van deze link",
    leave: "Open deze pagina in je browser",
    leave_how: "{browser} opent de app misschien niet. Tik op {menu} en kies ‘Open in browser’.",
    not_found: "Link niet gevonden",
    not_found_why: "Deze link bestaat niet of werkt niet meer.",
  },
  pl: {
    dir: "ltr",
    open: "Otwórz {app}",
    open_app: "Otwórz aplikację",
    app_store: "Pobierz w App Store",
    play_store: "Pobierz z Google Play",
    continue: "Kontynuuj w przeglądarce",
    scan: "Zeskanuj kod aparatem telefonu, aby tam kontynuować",
    qr_code: "Kod QR tego linku",
    leave: "Otwórz tę stronę w przeglądarce",
    leave_how:
      "{browser} może nie otworzyć aplikacji. Dotknij {menu} i wybierz „Otwórz w przeglądarce”.",
    not_found: "Nie znaleziono linku",
    not_found_why: "Ten link nie istnieje lub już nie działa.",
  },
  tr: {
    dir: "ltr",
    open: "{app} uygulamasını aç",
    open_app: "Uygulamayı aç",
    app_store: "App Store’dan indirin",
    play_store: "Google Play’den alın",
    continue: "Tarayıcıda devam et",
    scan: "Telefonunuzda devam etmek için kodu kamerasıyla okutun",
    qr_code: "Bu bağlantının QR kodu",
    leave: "Bu sayfayı tarayıcınızda açın",
    leave_how: "{browser} uygulamayı açmayabilir. {menu} simgesine dokunup “Tarayıcıda aç”ı seçin.",
    not_found: "Bağlantı bulunamadı",
    not_found_why: "Bu bağlantı yok veya artık çalışmıyor.",
  },
  ar: {
    dir: "rtl",
    open: "فتح {app}",
    open_app: "فتح التطبيق",
    app_store: "تنزيل من App Store",
    play_store: "احصل عليه من Google Play",
    continue: "المتابعة في المتصفح",
    scan: "امسح الرمز بكاميرا هاتفك للمتابعة عليه",
    qr_code: "رمز QR لهذا الرابط",
    leave: "افتح هذه الصفحة في متصفحك",
    leave_how: "قد لا يفتح {browser} التطبيق. اضغط على {menu} ثم اختر «فتح في المتصفح».",
    not_found: "الرابط غير موجود",
    not_found_why: "هذا الرابط غير موجود أو لم يعد يعمل.",
  },
  he: {
    dir: "rtl",
    open: "פתיחת {app}",
    open_app: "פתיחת האפליקציה",
    app_store: "להורדה ב-App Store",
    play_store: "להורדה מ-Google Play",
    continue: "המשך בדפדפן",
    scan: "סרקו את הקוד במצלמת הטלפון כדי להמשיך שם",
    qr_code: "קוד QR של הקישור הזה",
    leave: "פתחו את הדף הזה בדפדפן",
    leave_how: "ייתכן ש-{browser} לא יפתח את האפליקציה. הקישו על {menu} ובחרו „פתיחה בדפדפן”.",
    not_found: "הקישור לא נמצא",
    not_found_why: "הקישור הזה אינו קיים או שאינו פעיל עוד.",
  },
  hi: {
    dir: "ltr",
    open: "{app} खोलें",
    open_app: "ऐप खोलें",
    app_store: "App Store से डाउनलोड करें",
    play_store: "Google Play पर पाएं",
    continue: "ब्राउज़र में जारी रखें",
    scan: "फ़ोन पर जारी रखने के लिए इस कोड को उसके कैमरे से स्कैन करें",
    qr_code: "इस लिंक का QR कोड",
    leave: "इस पेज को अपने ब्राउज़र में खोलें",
    leave_how: "हो सकता है {browser} ऐप न खोले। {menu} पर टैप करें और “ब्राउज़र में खोलें” चुनें।",
    not_found: "लिंक नहीं मिला",
    not_found_why: "यह लिंक मौजूद नहीं है या अब काम नहीं करता।",
  },
  ja: {
    dir: "ltr",
    open: "{app}を開く",
    open_app: "アプリを開く",
    app_store: "App Storeからダウンロード",
    play_store: "Google Playで手に入れよう",
    continue: "ブラウザで続ける",
    scan: "スマートフォンのカメラで読み取ると、そちらで続けられます",
    qr_code: "このリンクのQRコード",
    leave: "このページをブラウザで開いてください",
    leave_how:
      "{browser}ではアプリが開かないことがあります。" +
      "{menu}をタップして「ブラウザで開く」を選んでください。",
    not_found: "リンクが見つかりません",
    not_found_why: "このリンクは存在しないか、無効になっています。",
  },
  ko: {
    dir: "ltr",
    open: "{app} 열기",
    open_app: "앱 열기",
    app_store: "App Store에서 다운로드하기",
    play_store: "Google Play에서 다운로드하기",
    continue: "브라우저에서 계속하기",
    scan: "휴대전화 카메라로 코드를 스캔하면 휴대전화에서 계속할 수 있습니다",
    qr_code: "이 링크의 QR 코드",
    leave: "이 페이지를 브라우저에서 여세요",
    leave_how:
      "{browser}에서는 앱이 열리지 않을 수 있습니다. " +
      "{menu}을(를) 누르고 ‘브라우저에서 열기’를 선택하세요.",
    not_found: "링크를 찾을 수 없습니다",
    not_found_why: "이 링크는 존재하지 않거나 더 이상 작동하지 않습니다.",
  },
  "zh-Hans": {
    dir: "ltr",
    open: "打开 {app}",
    open_app: "打开应用",
    app_store: "在 App Store 下载",
    play_store: "在 Google Play 下载",
    continue: "在浏览器中继续",
    scan: "用手机相机扫描二维码，在手机上继续",
    qr_code: "此链接的二维码",
    leave: "请在浏览器中打开此页面",
    leave_how: "{browser} 可能无法打开应用。请点按 {menu}，然后选择“在浏览器中打开”。",
    not_found: "找不到链接",
    not_found_why: "此链接不存在或已失效。",
  },
} as const satisfies Readonly<Record<string, PageTexts>>;

export type PageLanguage = keyof typeof pageTexts;

/** Longer lists of languages are cut off. Browsers send only a few languages. */
const mostRanges = 20;
const mostCharacters = 500;

/**
 * Chooses the supported language that the visitor prefers (RFC 9110, section 12.5.4). A regional
 * variant falls back to its language (RFC 4647, section 3.4). The default is English.
 */
export function chooseLanguage(accepted: string | undefined): PageLanguage {
  const ranges = (accepted ?? "")
    .slice(0, mostCharacters)
    .split(",", mostRanges)
    .map(readRange)
    .filter(({ quality }) => quality > 0)
    .toSorted((one, other) => other.quality - one.quality);
  for (const { tag } of ranges) {
    if (tag === "*") break;
    const found = findLanguage(tag);
    if (found !== undefined) return found;
  }
  return "en";
}

export function describeLanguage(language: PageLanguage): string {
  return `lang="${language}" dir="${pageTexts[language].dir}"`;
}

function readRange(range: string): { readonly tag: string; readonly quality: number } {
  const [tag = "", ...parameters] = range.toLowerCase().split(";");
  const qualities = parameters.map((parameter) => /^\s*q\s*=\s*(\S*)\s*$/.exec(parameter)?.[1]);
  const quality = qualities.find((text) => text !== undefined) ?? "1";
  return {
    tag: tag.trim(),
    quality: /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(quality) ? Number(quality) : 0,
  };
}

/** The supported languages by lowercase tag. Some browsers send older tags. */
const languages: ReadonlyMap<string, PageLanguage> = new Map([
  ...Object.keys(pageTexts).map(
    // The cast is safe, because the keys of `pageTexts` are the supported languages.
    (language) => [language.toLowerCase(), language as PageLanguage] as const,
  ),
  ["iw", "he"],
  ["zh", "zh-Hans"],
  ["zh-cn", "zh-Hans"],
  ["zh-sg", "zh-Hans"],
]);

/**
 * Readers of traditional Chinese do not get simplified Chinese, but their next preferred language.
 */
const otherScript = /^zh-(?:hant|tw|hk|mo)(?:-|$)/;

function findLanguage(tag: string): PageLanguage | undefined {
  if (otherScript.test(tag)) return undefined;
  for (let rest = tag; rest !== ""; rest = rest.replace(/-?[^-]*$/, "")) {
    const found = languages.get(rest);
    if (found !== undefined) return found;
  }
  return undefined;
}
