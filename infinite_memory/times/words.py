"""The words of time in English and Chinese, and Chinese words that only look like them."""

from __future__ import annotations

from infinite_memory.times.calendar import Grain

_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = {
    **{name: number for number, name in enumerate(_MONTH_NAMES, 1)},
    **{name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)},
    "sept": 9,
}
WEEKDAYS = {
    **{name: number for number, name in enumerate(_DAY_NAMES)},
    **{name[:3]: number for number, name in enumerate(_DAY_NAMES)},
    **{"tues": 1, "weds": 2, "thur": 3, "thurs": 3},
}
SHORT = frozenset({*WEEKDAYS, *MONTHS} - {*_MONTH_NAMES, *_DAY_NAMES}) | {
    *("may", "march", "april", "june", "august")
}
"""Names that are also other words or people: in a sentence they need a preposition."""

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of a season on the northern half of the earth."""

PARTS = {
    **{"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 29)},
    **{"noon": (12, 13), "midday": (12, 13), "midnight": (0, 1)},
}
"""Start and end as hours of the day; more than 24 means the next day."""

THIRDS = {
    **dict.fromkeys(("early", "beginning", "start"), 0),
    **dict.fromkeys(("mid", "middle"), 1),
    **dict.fromkeys(("late", "end"), 2),
}
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth"),
    *("seventeenth", "eighteenth", "nineteenth", "twentieth"),
)
ORDINALS = {name: number for number, name in enumerate(_ORDINALS, 1)}
_ONES = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
NUMBERS = {
    **{name: number for number, name in enumerate(_ONES, 1)},
    **{"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80},
    "ninety": 90,
}
_UNIT_NAMES = {
    **{"second": (Grain.SECOND, 1), "minute": (Grain.MINUTE, 1), "hour": (Grain.HOUR, 1)},
    **{"day": (Grain.DAY, 1), "week": (Grain.WEEK, 1), "fortnight": (Grain.WEEK, 2)},
    **{"month": (Grain.MONTH, 1), "quarter": (Grain.QUARTER, 1), "year": (Grain.YEAR, 1)},
    "decade": (Grain.DECADE, 1),
}
UNITS = {
    **_UNIT_NAMES,
    **{f"{name}s": unit for name, unit in _UNIT_NAMES.items()},
    **{"min": (Grain.MINUTE, 1), "mins": (Grain.MINUTE, 1), "secs": (Grain.SECOND, 1)},
    **{"hr": (Grain.HOUR, 1), "hrs": (Grain.HOUR, 1), "wk": (Grain.WEEK, 1)},
    **{"wks": (Grain.WEEK, 1), "sec": (Grain.SECOND, 1)},
    **{"yr": (Grain.YEAR, 1), "yrs": (Grain.YEAR, 1), "qtr": (Grain.QUARTER, 1)},
}
"""Units of time, as a grain and a number of it."""

COUNTED = {
    **{"h": UNITS["hour"], "d": UNITS["day"], "w": UNITS["week"], "mo": UNITS["month"]},
    **{"mos": UNITS["month"], "yr": UNITS["year"], "yrs": UNITS["year"]},
    **{name: UNITS[name] for name in ("hr", "hrs", "wk", "wks", "min", "mins")},
}
"""Short names of units, which need a number before them."""


_TRADITIONAL = (
    "週周 個个 後后 點点 號号 禮礼 鐘钟 這这 過过 來来 兩两 從从 間间 內内 現现 裡里 餅饼 燈灯 "
    "開开 結结 記记 誌志 語语 學学 級级 紀纪 齡龄 輕轻 華华 線线 氣气 圍围 邊边 類类 數数 節节 "
    "東东 國国 於于 與与 訂订 貨货 聖圣 誕诞 勞劳 動动"
).split()
SIMPLIFIED_ZH = str.maketrans({pair[0]: pair[1] for pair in _TRADITIONAL})
"""Simplified characters by the traditional ones in the words below."""

DIGITS_ZH = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6}
DIGITS_ZH |= {"七": 7, "八": 8, "九": 9, "十": 10}

DAYS_ZH = {
    **{"大前天": -3, "前天": -2, "前日": -2, "昨天": -1, "昨日": -1, "今天": 0, "今日": 0},
    **{"明天": 1, "明日": 1, "后天": 2, "大后天": 3, "昨儿": -1},
}
"""Days by their distance from today."""

NIGHTS_ZH = {"昨晚": -1, "昨夜": -1, "今晚": 0, "今夜": 0, "明晚": 1, "前晚": -2}
MORNINGS_ZH = {"今早": 0, "今晨": 0, "明早": 1, "昨早": -1}
YEARS_ZH = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}
MODIFIERS_ZH = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}

DAY_PARTS_ZH = {
    **dict.fromkeys(("凌晨", "清晨"), (0, 6)),
    **dict.fromkeys(("早上", "早晨", "上午"), (5, 12)),
    **dict.fromkeys(("中午", "正午"), (11, 13)),
    **dict.fromkeys(("下午", "午后"), (12, 18)),
    "傍晚": (17, 19),
    **dict.fromkeys(("晚上", "晚间", "夜里", "夜间", "夜晚"), (18, 29)),
    **dict.fromkeys(("半夜", "深夜"), (22, 29)),
}
"""Start and end as hours of the day; more than 24 means the next day."""

WEEKDAYS_ZH = {
    f"{week}{day}": number
    for week in ("周", "星期", "礼拜")
    for day, number in zip("一二三四五六日天", (0, 1, 2, 3, 4, 5, 6, 6), strict=True)
}
SEASONS_ZH = {
    f"{season}{end}": first
    for season, first in (("春", 3), ("夏", 6), ("秋", 9), ("冬", 12))
    for end in ("天", "季")
}
HOLIDAY_MONTHS_ZH = {"暑假": (7, 2)}
"""Long holidays by their first month and how many months they last."""

UNITS_ZH = {
    **dict.fromkeys(("秒", "秒钟"), "second"),
    **dict.fromkeys(("分钟",), "minute"),
    **dict.fromkeys(("小时", "钟头"), "hour"),
    **dict.fromkeys(("天", "日"), "day"),
    **dict.fromkeys(("周", "星期", "礼拜"), "week"),
    "月": "month",
    **dict.fromkeys(("季度", "季"), "quarter"),
    "年": "year",
}
HOLIDAYS_ZH = {
    **dict.fromkeys(("元旦", "元旦节"), (1, 1)),
    **{"情人节": (2, 14), "植树节": (3, 12), "愚人节": (4, 1), "光棍节": (11, 11)},
    **{"双十一": (11, 11), "双十二": (12, 12)},
    **dict.fromkeys(("妇女节", "三八妇女节"), (3, 8)),
    **dict.fromkeys(("劳动节", "五一劳动节", "五一节"), (5, 1)),
    **dict.fromkeys(("青年节", "五四青年节"), (5, 4)),
    **dict.fromkeys(("儿童节", "六一儿童节"), (6, 1)),
    **{"建军节": (8, 1), "教师节": (9, 10), "国庆": (10, 1), "国庆节": (10, 1)},
    **dict.fromkeys(("平安夜", "圣诞夜", "圣诞前夜"), (12, 24)),
    **dict.fromkeys(("圣诞", "圣诞节"), (12, 25)),
    "跨年夜": (12, 31),
}
"""Holidays with a fixed date, by month and day."""

MOVABLE_NAMES_ZH = frozenset(
    "春节 除夕 大年初一 元宵节 清明节 清明 端午节 端午 中秋节 中秋 感恩节 复活节".split()
)
"""Holidays that move from year to year."""

Vague = tuple[tuple[Grain, int] | None, tuple[Grain, int] | None]
_NOW = (Grain.SECOND, 0)
_LAST_MONTH: Vague = ((Grain.MONTH, -1), _NOW)
_LAST_HOUR: Vague = ((Grain.HOUR, -1), _NOW)
_A_WHILE_AGO: Vague = ((Grain.MONTH, -6), (Grain.DAY, 0))
_LONG_AGO: Vague = (None, (Grain.YEAR, -1))
_BEFORE_NOW: Vague = (None, _NOW)
_EVER: Vague = (None, None)
_NOT_LONG_AGO: Vague = ((Grain.MONTH, -3), _NOW)
_SOON: Vague = (_NOW, (Grain.MONTH, 1))
VAGUE: dict[str, Vague] = {
    **dict.fromkeys(("recently", "lately", "these days", "nowadays", "recent"), _LAST_MONTH),
    **dict.fromkeys(("just now", "a moment ago"), _LAST_HOUR),
    **dict.fromkeys(("a while ago", "a while back", "some time ago"), _A_WHILE_AGO),
    **dict.fromkeys(("long ago", "a long time ago", "ages ago"), _LONG_AGO),
    **dict.fromkeys(("the past", "earlier", "before", "previously"), _BEFORE_NOW),
    **dict.fromkeys(("all time", "ever", "any time", "anytime"), _EVER),
    **{"soon": _SOON, "not long ago": _NOT_LONG_AGO},
}
"""Vague times by their bounds, as distances from now; None is without bound."""

VAGUE_ZH: dict[str, Vague] = {
    **dict.fromkeys(("最近", "近期", "近来", "这阵子", "这段时间"), _LAST_MONTH),
    **dict.fromkeys(("刚才", "刚刚"), _LAST_HOUR),
    **dict.fromkeys(("前阵子", "前一阵子", "前段时间"), _A_WHILE_AGO),
    **dict.fromkeys(("很久以前", "好久以前"), _LONG_AGO),
    **dict.fromkeys(("以前", "之前", "过去"), _BEFORE_NOW),
    **dict.fromkeys(("所有时间", "任何时候", "一直"), _EVER),
    **dict.fromkeys(("不久前", "不久之前", "不久以前"), _NOT_LONG_AGO),
    "不久": _SOON,
}

_GRAMMAR = (
    "年 月 日 号 点 点钟 时 分 半 一刻 三刻 个 的 初 底 末 年初 年中 年底 年末 月初 月中 月底 "
    "月末 周末 上半年 下半年 第 季度 在 于 从 自 自从 到 至 和 与 之间 以来 至今 之前 以前 之后 "
    "以后 前 后 过去 最近 近 未来 今后 期间 内 之内 以内 里 来 那天 现在 目前 为止 最后 一刻钟 "
    "三刻钟 年代 月份 月上旬 月中旬 月下旬 开始 起 几 好几 若干 大约 大概 差不多 左右 前后 上下 些 "
    "同期 这个时候"
).split()
# Words that only look like a time: a moon cake is not a month, and Japan is not a day.
_BLOCKERS = (
    "月饼 月球 月亮 月光 月薪 月租 月票 月台 月刊 月嫂 日光灯 日本 日语 日文 日记 日志 日常 日元 "
    "日历 日期 日用 天生 年轻 年龄 年级 年糕 年纪 年货 年薪 年度 年费 年华 天气 天空 天才 天使 "
    "天然 天线 天津 天平 天天 天下 天鹅 周围 周边 周期 周长 周杰伦 周刊 月度 月费 年年 月月 日日 "
    "号码 号线 号楼 号称 号召 点击 点赞 点心 点评 点名 点子 分享 分析 分支 分类 分布 分数 分之 "
    "季节 季风 季军 秒杀 一下 一些 一样 一般 一起 一定 一边 三角 三明治 三国 四川 五金 六神 "
    "七夕 八卦 九寨沟 上海 上班 上次 上级 上网 上线 上传 上面 上司 上学 上课 下载 下班 下面 下级 "
    "下次 下列 下一步 下来 下去 下午茶 下午好 早上好 上午好 中午好 晚上好 晚安 早安 本地 本人 "
    "本来 本质 本身 这些 这样 这里 前端 前台 前者 后端 后台 后面 后来 后果 后悔 后者 近视 "
    "近似 过去式 到底 到处 从来 从而 从事 今天头条 后天性 周末愉快 半天 半年 半个 第一时间 从前端 "
    "之前端 初中 初级 初始 初步 初稿 底层 底线 底部 末日 末尾 时间 时候 时代 时机 时刻 时区 时常 "
    "时尚 时速 一月一次 以前端 在线 点开 点菜 日落 日出 年会上 月牙 月季 年画 日内瓦"
).split()
_KNOWN = {
    *DIGITS_ZH,
    *DAYS_ZH,
    *NIGHTS_ZH,
    *MORNINGS_ZH,
    *YEARS_ZH,
    *MODIFIERS_ZH,
    *DAY_PARTS_ZH,
    *HOLIDAYS_ZH,
    *MOVABLE_NAMES_ZH,
    *WEEKDAYS_ZH,
    *SEASONS_ZH,
    *HOLIDAY_MONTHS_ZH,
    *UNITS_ZH,
    *VAGUE_ZH,
    *_GRAMMAR,
}
WORDS_ZH = frozenset({*_KNOWN, *_BLOCKERS})
"""Every word that becomes one token, regardless of the characters around it."""

LONGEST_ZH = max(map(len, WORDS_ZH))
